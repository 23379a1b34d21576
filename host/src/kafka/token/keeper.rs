//! Keeps the tokens of all clients of a run fresh. One thread gets the next token when four fifths of the last one's life
//! are over, and sets it on every client; librdkafka shows it to a broker with the next connection or re-authentication.

use std::ffi::{CString, c_char};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rdkafka_sys::bindings as rd;
use rdkafka_sys::types::RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR;

use super::due::Due;
use super::{Source, Token, TokenError};
use crate::kafka::wire::owned;

/// How often the clock is looked at: it may be set, and a machine may sleep.
const LOOK: Duration = Duration::from_secs(10);

/// librdkafka wants a name; brokers read it from the token.
const SOMEBODY: &str = "khost";

/// Where clients get their tokens. Its thread ends with it.
pub struct Keeper(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    complain: Box<dyn Fn(&str) + Send + Sync>,
}

struct State {
    token: Token,
    clients: Vec<Handle>,
    is_over: bool,
}

/// A client that `add` was told of.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Handle(*mut rd::rd_kafka_t);

// SAFETY: librdkafka's handles may be used from any thread.
unsafe impl Send for Handle {}

impl Keeper {
    /// Gets the first token, and starts the thread that gets the others. What goes wrong later is told to `complain`.
    ///
    /// # Errors
    /// There is no first token.
    pub fn start(
        source: Source,
        extensions: Vec<(String, String)>,
        broker_host: Option<String>,
        complain: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, TokenError> {
        let fetch = move || {
            let token = source.fetch(broker_host.as_deref())?;
            Ok(Token { extensions: extensions.clone(), ..token })
        };
        Self::start_with(fetch, complain)
    }

    fn start_with(
        mut fetch: impl FnMut() -> Result<Token, TokenError> + Send + 'static,
        complain: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, TokenError> {
        let due = Due::start();
        let token = fetch()?;
        let due = due.got(token.expires);
        let state = Mutex::new(State { token, clients: Vec::new(), is_over: false });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), complain: Box::new(complain) });
        let keeper = Arc::new(Keeper(shared.clone()));
        std::thread::Builder::new()
            .name("khost-token".into())
            .spawn(move || shared.keep(fetch, due))
            .expect("a thread can be started before the load");
        Ok(keeper)
    }

    /// The current token, for a client that is not librdkafka.
    pub fn token(&self) -> Token {
        self.0.lock().token.clone()
    }

    /// Sets the token on a client that was just made, and from now on each next one. Without it the client connects to no
    /// broker.
    ///
    /// # Safety
    /// `rk` is live, and stays so until `remove` was called with it.
    ///
    /// # Errors
    /// The client does not do SASL/OAUTHBEARER, or the token has expired; then it need not be removed.
    pub unsafe fn add(&self, rk: *mut rd::rd_kafka_t) -> Result<(), TokenError> {
        let mut state = self.0.lock();
        // SAFETY: as the caller says.
        unsafe { set(rk, &state.token) }?;
        state.clients.push(Handle(rk));
        Ok(())
    }

    /// Sets the token on a client that lives no longer than it, as those of the checks before a load do.
    ///
    /// # Safety
    /// `rk` is live.
    ///
    /// # Errors
    /// As with `add`.
    pub unsafe fn set_once(&self, rk: *mut rd::rd_kafka_t) -> Result<(), TokenError> {
        // SAFETY: as the caller says.
        unsafe { set(rk, &self.0.lock().token) }
    }

    /// Leaves a client alone: it may be destroyed once this has returned.
    pub fn remove(&self, rk: *mut rd::rd_kafka_t) {
        self.0.lock().clients.retain(|client| client.0 != rk);
    }
}

impl Drop for Keeper {
    /// The thread is not waited for: it may be waiting for a command or for AWS.
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Keeper").field("token", &state.token).field("clients", &state.clients.len()).finish()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn keep(&self, mut fetch: impl FnMut() -> Result<Token, TokenError>, mut due: Due) {
        while self.wait_until(due.at) {
            let try_ = due.next();
            due = match fetch() {
                Ok(token) => {
                    self.set_on_all(&token);
                    try_.got(token.expires)
                }
                Err(error) => {
                    (self.complain)(&format!("no new token: {error}"));
                    let expires = self.lock().token.expires;
                    if SystemTime::now() >= expires {
                        self.tell_all(&error);
                    }
                    try_.failed(expires)
                }
            };
        }
    }

    /// Answers whether the time has come, or else it is over.
    fn wait_until(&self, at: SystemTime) -> bool {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return false;
            }
            let Ok(left) = at.duration_since(SystemTime::now()) else { return true };
            if left.is_zero() {
                return true;
            }
            state = self.changed.wait_timeout(state, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn set_on_all(&self, token: &Token) {
        let mut state = self.lock();
        state.token = token.clone();
        for client in &state.clients {
            // SAFETY: it is live until it is removed, which the lock keeps from happening now.
            if let Err(error) = unsafe { set(client.0, token) } {
                (self.complain)(&error.to_string());
            }
        }
    }

    /// Has clients say why they can't authenticate any more; one says it once.
    fn tell_all(&self, error: &TokenError) {
        let text = CString::new(error.to_string().replace('\0', "")).expect("NUL characters were taken out");
        for client in &self.lock().clients {
            // SAFETY: as in `set_on_all`; the text is NUL-terminated, and not empty.
            unsafe { rd::rd_kafka_oauthbearer_set_token_failure(client.0, text.as_ptr()) };
        }
    }
}

/// # Safety
/// `rk` is live.
unsafe fn set(rk: *mut rd::rd_kafka_t, token: &Token) -> Result<(), TokenError> {
    let c_string = |text: &str| CString::new(text).map_err(|_| TokenError::Client("it holds a NUL character".into()));
    let (value, principal) = (c_string(&token.value)?, c_string(token.principal.as_deref().unwrap_or(SOMEBODY))?);
    let mut extensions = Vec::new();
    for (name, value) in &token.extensions {
        extensions.extend([c_string(name)?, c_string(value)?]);
    }
    let mut extensions: Vec<_> = extensions.iter().map(|text| text.as_ptr()).collect();
    let expires = token.expires.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut text: [c_char; 512] = [0; 512];
    // SAFETY: `rk` is live; all strings are NUL-terminated and are copied, and the sizes are passed along.
    let result = unsafe {
        rd::rd_kafka_oauthbearer_set_token(
            rk,
            value.as_ptr(),
            expires.as_millis() as i64,
            principal.as_ptr(),
            extensions.as_mut_ptr(),
            extensions.len(),
            text.as_mut_ptr(),
            text.len(),
        )
    };
    if result == RD_KAFKA_RESP_ERR_NO_ERROR {
        return Ok(());
    }
    // SAFETY: librdkafka wrote a NUL-terminated text.
    Err(TokenError::Client(unsafe { owned(text.as_ptr()) }))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::kafka::settings::Conf;
    use crate::kafka::token::{Refusal, jwt};

    fn token(value: &str, expires: SystemTime) -> Token {
        Token { value: value.into(), expires, principal: Some("alice".into()), extensions: Vec::new() }
    }

    fn refused() -> TokenError {
        TokenError::Refused { from: "the test".into(), refusal: Refusal::Empty }
    }

    /// A client that is never given a broker.
    fn client(mechanism: &str) -> *mut rd::rd_kafka_t {
        let settings = [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", mechanism)];
        let mut settings: std::collections::BTreeMap<_, _> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        if mechanism == "PLAIN" {
            settings.extend([("sasl.username".into(), "a".into()), ("sasl.password".into(), "b".into())]);
        }
        let conf = Conf::new(&settings).unwrap();
        let kind = rd::rd_kafka_type_t::RD_KAFKA_PRODUCER;
        // SAFETY: the configuration is live.
        let rk = unsafe {
            rd::rd_kafka_conf_set_events(conf.raw(), rd::RD_KAFKA_EVENT_ERROR);
            rd::rd_kafka_new(kind, conf.raw(), std::ptr::null_mut(), 0)
        };
        assert!(!rk.is_null());
        conf.given();
        rk
    }

    #[test]
    fn clients_take_it_or_say_why_not() {
        let end = SystemTime::now() + Duration::from_secs(60);
        let (rk, other) = (client("OAUTHBEARER"), client("PLAIN"));
        let mut all = token(&jwt::unsigned("{}"), end);
        all.extensions = vec![("traceId".into(), "a b".into())];
        let keeper = Keeper::start_with(move || Ok(all.clone()), |_| ()).unwrap();
        // SAFETY: both are live, and removed before they are destroyed.
        unsafe {
            keeper.add(rk).unwrap();
            keeper.set_once(rk).unwrap();
            let error = keeper.add(other).unwrap_err();
            assert!(error.to_string().contains("SASL/OAUTHBEARER is not the configured"), "{error}");
            assert!(error.hint().contains("sasl.mechanism"));
            assert!(format!("{keeper:?}").contains("clients: 1"));
            let old = set(rk, &token("a", SystemTime::UNIX_EPOCH)).unwrap_err();
            assert!(old.to_string().contains("unexpired"), "{old}");
            keeper.remove(rk);
            assert!(format!("{keeper:?}").contains("clients: 0"));
            rd::rd_kafka_destroy(rk);
            rd::rd_kafka_destroy(other);
        }
    }

    fn wait_for(what: impl Fn() -> bool) {
        let until = SystemTime::now() + Duration::from_secs(10);
        while !what() {
            assert!(SystemTime::now() < until, "it did not come");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn the_next_token_comes_by_itself_and_what_fails_is_told() {
        let start = SystemTime::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut answers: VecDeque<_> =
            [Ok(token("one", after(2))), Err(refused()), Err(refused()), Ok(token("two", after(600)))].into();
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let told = complaints.clone();
        let keeper = Keeper::start_with(
            move || answers.pop_front().unwrap_or_else(|| Err(refused())),
            move |text| told.lock().unwrap().push(text.to_owned()),
        )
        .unwrap();
        assert_eq!(keeper.token().value(), "one");
        let rk = client("OAUTHBEARER");
        // SAFETY: it is removed before it is destroyed.
        unsafe { keeper.add(rk) }.unwrap();
        wait_for(|| keeper.token().value() == "two");
        assert_eq!(*complaints.lock().unwrap(), ["no new token: the test: no token is there, the text is empty"; 2]);
        // the client was told when its token had expired
        let mut heard = Vec::new();
        // SAFETY: events are live until they are destroyed, and the client until the end.
        unsafe {
            let queue = rd::rd_kafka_queue_get_main(rk);
            loop {
                let event = rd::rd_kafka_queue_poll(queue, 100);
                if event.is_null() {
                    break;
                }
                if rd::rd_kafka_event_type(event) as i32 == rd::RD_KAFKA_EVENT_ERROR {
                    heard.push(owned(rd::rd_kafka_event_error_string(event)));
                }
                rd::rd_kafka_event_destroy(event);
            }
            rd::rd_kafka_queue_destroy(queue);
            keeper.remove(rk);
            rd::rd_kafka_destroy(rk);
        }
        assert_eq!(heard, ["Failed to acquire SASL OAUTHBEARER token: the test: no token is there, the text is empty"]);
    }

    #[test]
    fn without_a_first_token_it_does_not_start() {
        assert!(matches!(Keeper::start_with(|| Err(refused()), |_| ()), Err(TokenError::Refused { .. })));
    }

    #[test]
    fn its_thread_ends_with_it() {
        let alive = Arc::new(());
        let held = alive.clone();
        let end = SystemTime::now() + Duration::from_secs(600);
        let keeper = Keeper::start_with(
            move || {
                let _ = &held;
                Ok(token("a", end))
            },
            |_| (),
        );
        drop(keeper);
        wait_for(|| Arc::strong_count(&alive) == 1);
    }
}
