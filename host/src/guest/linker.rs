//! The contract's imports. `produce` and its kin read messages where they lie in the guest's memory.
//!
//! On the hot path (`send`): no allocation, lock, formatting or log line per message.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wasmtime::component::{Linker, LinkerInstance, WasmList};
use wasmtime::{Engine, Result, StoreContextMut};

use super::contract::{Acknowledgement, CONTRACT_VERSION, Label, Level, Message, PACKAGE, Payload, Rows};
use super::error::{GuestError, clip};
use super::host::{Host, Labels, Outgoing, Part, Sending};
use super::instance::State;
use crate::measure::thread_cpu_ns;

type Context<'a, H> = StoreContextMut<'a, State<H>>;

/// A linker with all that this khost has of the contract.
pub(super) fn linker<H: Host + 'static>(engine: &Engine) -> Result<Linker<State<H>>> {
    let mut linker = Linker::new(engine);
    for (interface, define) in [
        ("context", context as fn(&mut LinkerInstance<'_, State<H>>) -> Result<()>),
        ("kafka", kafka),
        ("clock", clock),
        ("metrics", metrics),
        ("data", data),
        ("log", log),
    ] {
        define(&mut linker.instance(&format!("{PACKAGE}/{interface}@{CONTRACT_VERSION}"))?)?;
    }
    Ok(linker)
}

/// Ends the guest's call, and says why.
fn stop<H, T>(state: &mut State<H>, why: GuestError) -> Result<T> {
    let text = why.to_string();
    state.stop = Some(why);
    Err(wasmtime::Error::msg(text))
}

/// Asks the host; a text as answer is the scenario's mistake.
fn ask<H: Host + 'static, T>(
    context: &mut Context<'_, H>,
    question: impl FnOnce(&mut H) -> Result<T, String>,
) -> Result<T> {
    let state = context.data_mut();
    match question(host(state)) {
        Ok(answer) => Ok(answer),
        Err(mistake) => stop(state, GuestError::Mistake(clip(&mistake))),
    }
}

fn host<H>(state: &mut State<H>) -> &mut H {
    state.host.as_mut().expect("the host is only away while messages are read")
}

fn context<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("flow", |c: Context<'_, H>, (): ()| Ok((c.data().identity.flow.clone(),)))?;
    i.func_wrap("worker", |c: Context<'_, H>, (): ()| Ok((c.data().identity.worker,)))?;
    i.func_wrap("worker-count", |c: Context<'_, H>, (): ()| Ok((c.data().identity.workers,)))?;
    i.func_wrap("seed", |c: Context<'_, H>, (): ()| Ok((c.data().identity.seed,)))?;
    i.func_wrap("run-id", |c: Context<'_, H>, (): ()| Ok((c.data().identity.run_id,)))?;
    i.func_wrap("param", |c: Context<'_, H>, (name,): (String,)| {
        Ok((c.data().identity.params.get(&name).map(|value| value.as_text()),))
    })?;
    i.func_wrap("param-list", |c: Context<'_, H>, (name,): (String,)| {
        Ok((c.data().identity.params.get(&name).and_then(|value| value.items().map(<[String]>::to_vec)),))
    })?;
    i.func_wrap("fail", |mut c: Context<'_, H>, (iteration, text): (i32, String)| {
        let state = c.data_mut();
        match state.failed.add(iteration, &text) {
            Ok(()) => Ok(()),
            Err(mistake) => stop(state, GuestError::Mistake(mistake)),
        }
    })?;
    i.func_wrap("panic", |mut c: Context<'_, H>, (text,): (String,)| {
        stop::<H, ()>(c.data_mut(), GuestError::Panic(clip(&text)))
    })?;
    i.func_wrap("end-run", |mut c: Context<'_, H>, (text,): (String,)| {
        stop::<H, ()>(c.data_mut(), GuestError::EndRun(clip(&text)))
    })
}

fn kafka<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("open-topic", |mut c: Context<'_, H>, (name, each): (String, Option<String>)| {
        ask(&mut c, |host| host.open_topic(&name, each.as_deref())).map(|topic| (topic,))
    })?;
    i.func_wrap("topic-each", |mut c: Context<'_, H>, (of,): (u32,)| {
        ask(&mut c, |host| host.topic_each(of)).map(|each| (each,))
    })?;
    i.func_wrap("partition-count", |mut c: Context<'_, H>, (of,): (u32,)| {
        ask(&mut c, |host| host.partition_count(of)).map(|count| (count,))
    })?;
    i.func_wrap("share", |mut c: Context<'_, H>, (bytes,): (WasmList<u8>,)| {
        if !c.data().setting_up {
            return stop(
                c.data_mut(),
                GuestError::Mistake("`share` outside of setup: bodies are registered before the load".into()),
            );
        }
        let bytes = bytes.as_le_slice(&c).to_vec();
        ask(&mut c, |host| host.share(&bytes)).map(|body| (body,))
    })?;
    i.func_wrap("produce", |mut c: Context<'_, H>, (messages,): (WasmList<Message>,)| {
        send(&mut c, messages, Sending::Now).map(|_| ())
    })?;
    i.func_wrap("produce-after", |mut c: Context<'_, H>, (delay, messages): (u64, WasmList<Message>)| {
        send(&mut c, messages, Sending::After(Duration::from_nanos(delay))).map(|_| ())
    })?;
    i.func_wrap("deliver", |mut c: Context<'_, H>, (messages, timeout): (WasmList<Message>, u64)| {
        send(&mut c, messages, Sending::Deliver(Duration::from_nanos(timeout))).map(|answers| (answers,))
    })?;
    replies(i)
}

fn replies<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("open-channel", |mut c: Context<'_, H>, (name,): (String,)| {
        ask(&mut c, |host| host.open_channel(&clip(&name))).map(|channel| (channel,))
    })?;
    i.func_wrap("request", |mut c: Context<'_, H>, (messages, via, timeout): (WasmList<Message>, u32, u64)| {
        send(&mut c, messages, Sending::Request(via, Duration::from_nanos(timeout)))?;
        Ok((host(c.data_mut()).outcomes(),))
    })?;
    i.func_wrap("send-requests", |mut c: Context<'_, H>, (messages, via, timeout): (WasmList<Message>, u32, u64)| {
        send(&mut c, messages, Sending::SendRequests(via, Duration::from_nanos(timeout))).map(|_| ())
    })?;
    i.func_wrap("expect", |mut c: Context<'_, H>, (via, id, count, of): (u32, WasmList<u8>, u32, u32)| {
        let id = id.as_le_slice(&c).to_vec();
        ask(&mut c, |host| host.expect(via, &id, count, of)).map(|ticket| (ticket,))
    })?;
    i.func_wrap("wait", |mut c: Context<'_, H>, (on, least, timeout): (Vec<u32>, u32, u64)| {
        ask(&mut c, |host| host.wait(&on, least, Duration::from_nanos(timeout))).map(|outcomes| (outcomes,))
    })
}

fn send<H: Host + 'static>(
    context: &mut Context<'_, H>,
    messages: WasmList<Message>,
    sending: Sending,
) -> Result<Vec<Acknowledgement>> {
    let began = thread_cpu_ns();
    let mut host = context.data_mut().host.take().expect("the host is only away within this function");
    let result = push_all(context, &messages, &mut host, sending);
    let state = context.data_mut();
    let result = match result {
        Ok(result) => result,
        Err(trap) => {
            host.abandon();
            state.host = Some(host);
            return Err(trap);
        }
    };
    if result.is_err() {
        host.abandon();
    }
    state.host = Some(host);
    state.account.host_worked_since(began);
    match result {
        Ok(answers) => Ok(answers),
        Err(mistake) => stop(state, GuestError::Mistake(clip(&mistake))),
    }
}

/// The outer error is a list that can't be read (a guest's broken memory layout), the inner one a mistake.
fn push_all<H: Host + 'static>(
    context: &mut Context<'_, H>,
    messages: &WasmList<Message>,
    host: &mut H,
    sending: Sending,
) -> Result<Result<Vec<Acknowledgement>, String>> {
    if let Err(mistake) = host.begin(sending, messages.len()) {
        return Ok(Err(mistake));
    }
    for at in 0..messages.len() {
        let message = messages.get(&mut *context, at).expect("at < len")?;
        let pushed = if message.headers.len() == 0 {
            push(context, &message, &[], host)
        } else {
            let headers: Vec<_> = message.headers.iter(&mut *context)?.collect::<Result<_>>()?;
            let headers: Vec<_> = headers
                .iter()
                .map(|h| (h.name.as_le_slice(&*context), h.value.as_ref().map(|value| value.as_le_slice(&*context))))
                .collect();
            push(context, &message, &headers, host)
        };
        if let Err(mistake) = pushed {
            return Ok(Err(mistake));
        }
    }
    Ok(host.finish())
}

#[inline]
fn push<H: Host + 'static>(
    context: &Context<'_, H>,
    message: &Message,
    headers: &[(&[u8], Option<&[u8]>)],
    host: &mut H,
) -> Result<(), String> {
    let part = |payload: &Payload| match payload {
        Payload::None => Part::Null,
        Payload::Bytes(bytes) => Part::Bytes(bytes.as_le_slice(context)),
        Payload::Shared(slice) => Part::Shared { body: slice.body, start: slice.start, length: slice.length },
    };
    let outgoing = Outgoing {
        topic: message.topic,
        partition: message.partition,
        key: part(&message.key),
        value: part(&message.value),
        headers,
        timestamp: message.timestamp,
        iteration: message.iteration,
        operation: message.operation,
    };
    // SAFETY: the bytes lie in the guest's memory, which neither moves nor changes until the import that this is part
    // of returns, as no guest code runs meanwhile; `send` calls `finish` or `abandon` before that.
    unsafe { host.push(&outgoing) }
}

fn clock<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("now", |mut c: Context<'_, H>, (): ()| Ok((host(c.data_mut()).now(),)))?;
    i.func_wrap("unix-millis", |_: Context<'_, H>, (): ()| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok((since.as_millis() as i64,))
    })?;
    i.func_wrap("sleep", |mut c: Context<'_, H>, (duration,): (u64,)| {
        Ok((host(c.data_mut()).sleep(Duration::from_nanos(duration)),))
    })
}

fn owned(labels: Vec<Label>) -> Labels {
    labels.into_iter().map(|label| (clip(&label.name), clip(&label.value))).collect()
}

fn metrics<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("open-operation", |mut c: Context<'_, H>, (name, labels): (String, Vec<Label>)| {
        ask(&mut c, |host| host.open_operation(&clip(&name), owned(labels))).map(|operation| (operation,))
    })?;
    i.func_wrap("observe", |mut c: Context<'_, H>, (of, duration, ok): (u32, u64, bool)| {
        ask(&mut c, |host| host.observe(of, Duration::from_nanos(duration), ok))
    })?;
    i.func_wrap("open-counter", |mut c: Context<'_, H>, (name, labels): (String, Vec<Label>)| {
        ask(&mut c, |host| host.open_counter(&clip(&name), owned(labels))).map(|counter| (counter,))
    })?;
    i.func_wrap("add", |mut c: Context<'_, H>, (to, amount): (u32, u64)| ask(&mut c, |host| host.add(to, amount)))?;
    i.func_wrap("open-check", |mut c: Context<'_, H>, (name, labels): (String, Vec<Label>)| {
        ask(&mut c, |host| host.open_check(&clip(&name), owned(labels))).map(|check| (check,))
    })?;
    i.func_wrap("check", |mut c: Context<'_, H>, (of, ok): (u32, bool)| ask(&mut c, |host| host.check(of, ok)))
}

fn data<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("open-dataset", |mut c: Context<'_, H>, (name,): (String,)| {
        ask(&mut c, |host| host.open_dataset(&clip(&name))).map(|set| (set,))
    })?;
    i.func_wrap("row-count", |mut c: Context<'_, H>, (of,): (u32,)| {
        ask(&mut c, |host| host.row_count(of)).map(|count| (count,))
    })?;
    i.func_wrap("columns", |mut c: Context<'_, H>, (of,): (u32,)| {
        ask(&mut c, |host| host.columns(of)).map(|columns| (columns,))
    })?;
    i.func_wrap("get", |c: Context<'_, H>, (of, first, count): (u32, u64, u32)| {
        rows(c, count, |host| host.get_rows(of, first, count))
    })?;
    i.func_wrap("next", |c: Context<'_, H>, (of, count): (u32, u32)| rows(c, count, |host| host.next_rows(of, count)))
}

/// Reading so many rows takes longer than asking for the time that it took.
const MANY_ROWS: u32 = 16;

/// Reading many rows is the host's work, not the guest's.
fn rows<H: Host + 'static>(
    mut context: Context<'_, H>,
    count: u32,
    read: impl FnOnce(&mut H) -> Result<Rows, String>,
) -> Result<(Rows,)> {
    let began = (count >= MANY_ROWS).then(thread_cpu_ns);
    let rows = ask(&mut context, read);
    if let Some(began) = began {
        context.data_mut().account.host_worked_since(began);
    }
    rows.map(|rows| (rows,))
}

fn log<H: Host + 'static>(i: &mut LinkerInstance<'_, State<H>>) -> Result<()> {
    i.func_wrap("log", |mut c: Context<'_, H>, (level, text): (Level, String)| {
        host(c.data_mut()).log(level, &clip(&text));
        Ok(())
    })
}
