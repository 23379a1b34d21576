//! Users who refresh a list each, and the application that does it page by page.

mod app;
mod refresh;
#[cfg(test)]
mod tests;
mod wire;

use app::App;
use refresh::Refresh;

khost_guest::flows! {
    "one" => session Refresh,
    "three" => session Refresh,
    "five" => session Refresh,
    "ten" => session Refresh,
    "app" => consume App,
}
