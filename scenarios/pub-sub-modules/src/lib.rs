//! Users whose check-ins and check-outs publish events, and the module that subscribes to them.

mod app;
#[cfg(test)]
mod tests;
mod users;
mod wire;

use app::App;
use users::User;

khost_guest::flows! {
    "users" => session User,
    "app" => consume App,
}
