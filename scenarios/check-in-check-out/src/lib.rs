//! Users who check items out and in, an import of records, and the application that serves both.
//!
//! What crosses Kafka is in [`wire`]; who sends it in [`users`] and [`import`], who answers in [`app`].

mod app;
mod import;
#[cfg(test)]
mod tests;
mod users;
mod wire;

use app::App;
use import::Import;
use users::User;

khost_guest::flows! {
    "users" => session User,
    "import" => session Import,
    "app" => consume App,
}
