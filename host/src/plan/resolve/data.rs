//! The data sets of a scenario: which file, how it is read, and the order of its rows.

use std::path::{Component, Path, PathBuf};

use super::listing::Listing;
use super::{names, refuse};
use crate::plan::error::Error;
use crate::plan::manifest::{DataTable, Format, Manifest, Named, Order as OrderWord};
use crate::plan::origin::Origin;
use crate::plan::tree::{self, Node};
use crate::plan::{DataFile, DataFormat, DataSet, Order};

pub(super) fn resolve(
    tables: &Named<DataTable>,
    document: &Node,
    listing: &mut Listing,
) -> Result<Vec<DataSet>, Error> {
    let mut sets = Vec::new();
    for (name, table) in &tables.0 {
        names::check_key("data set", name).map_err(|error| refuse(document, &["data", name], error))?;
        let Some(path) = &table.file else {
            let error = Error::refused("nobody has named its `file`");
            let hint = format!("--set data.{name}.file=PATH, or `file` in a profile's [data.{name}]");
            return Err(refuse(document, &["data", name], error).with_hint(hint));
        };
        let at = |key: &str, error| refuse(document, &["data", name, key], error);
        let origin = super::origin(document, &["data", name, "file"]);
        let file = file(path, &origin).map_err(|error| at("file", error))?;
        let format = table.format.unwrap_or_else(|| {
            let (format, word) = by_ending(path);
            let reason = Origin::Default("by the file's ending".to_owned());
            listing.assume(&format!("data.{name}"), "format", &format!("\"{word}\""), reason);
            format
        });
        let format = with_delimiter(format, table.delimiter.as_deref()).map_err(|error| at("delimiter", error))?;
        if matches!(format, DataFormat::Csv { .. }) && table.delimiter.is_none() {
            listing.assume(&format!("data.{name}"), "delimiter", "\",\"", Origin::by_default());
        }
        let order = match table.order {
            None => {
                listing.assume(&format!("data.{name}"), "order", "\"sequential\"", Origin::by_default());
                Order::Sequential
            }
            Some(OrderWord::Sequential) => Order::Sequential,
            Some(OrderWord::Random) => Order::Random,
            Some(OrderWord::Unique) => Order::Unique,
        };
        sets.push(DataSet { name: name.clone(), file, format, order });
    }
    Ok(sets)
}

/// Whose file it is: a manifest has those of its own folder only, as it may be a stranger's.
fn file(path: &str, origin: &Origin) -> Result<DataFile, Error> {
    match origin {
        _ if path.is_empty() => Err(Error::refused("it names no file")),
        Origin::Manifest(_) if !is_inside(path) => {
            Err(Error::refused("a manifest names files of its own folder, by a path that stays in it")
                .with_hint("whoever runs the scenario may name any file: in a profile, or with --set"))
        }
        Origin::Manifest(_) => Ok(DataFile::OfManifest(path.to_owned())),
        Origin::Profile(place) => {
            let folder = Path::new(place.file()).parent().unwrap_or(Path::new(""));
            Ok(DataFile::Given(folder.join(path)))
        }
        _ => Ok(DataFile::Given(PathBuf::from(path))),
    }
}

fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn by_ending(path: &str) -> (Format, &'static str) {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "csv" => (Format::Csv, "csv"),
        "jsonl" | "ndjson" => (Format::JsonLines, "json-lines"),
        _ => (Format::Raw, "raw"),
    }
}

fn with_delimiter(format: Format, delimiter: Option<&str>) -> Result<DataFormat, Error> {
    match (format, delimiter) {
        (Format::Csv, None) => Ok(DataFormat::Csv { delimiter: b',' }),
        (Format::Csv, Some(text)) => match text.as_bytes() {
            [byte] if !b"\"\r\n".contains(byte) => Ok(DataFormat::Csv { delimiter: *byte }),
            _ => Err(Error::unexpected("one character between the cells of CSV, such as \";\"", format!("{text:?}"))
                .with_hint("it is of ASCII, and neither a quote nor a line break")),
        },
        (Format::JsonLines, None) => Ok(DataFormat::JsonLines),
        (Format::JsonLines, Some(_)) => Err(Error::refused("JSON lines have no delimiter: a line break ends each")
            .with_hint("format = \"raw\" takes one")),
        (Format::Raw, None) => Ok(DataFormat::Raw { delimiter: None }),
        (Format::Raw, Some("")) => Err(Error::refused("nothing can't be between messages")),
        (Format::Raw, Some(text)) => Ok(DataFormat::Raw { delimiter: Some(text.as_bytes().to_vec()) }),
    }
}

/// The data sets of a manifest with the files that it names for them, as far as it can be read: what is wrong with it is
/// told when it is resolved.
pub fn files_of_manifest(text: &str) -> Vec<(String, String)> {
    let Ok(document) = tree::parse_file("", text, Origin::Manifest) else { return Vec::new() };
    let Ok(manifest) = crate::plan::decode::decode::<Manifest>(&only_data(document)) else { return Vec::new() };
    let files = manifest.data.0.into_iter().filter_map(|(name, table)| Some((name, table.file?)));
    files.filter(|(_, file)| is_inside(file)).collect()
}

fn only_data(mut document: Node) -> Node {
    if let Some(table) = document.table_mut() {
        table.0.retain(|entry| entry.key == "data");
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::Text;
    use crate::plan::resolve::tests::{plan, refused, sources};
    use crate::plan::{Plan, Sources, resolve};

    const FLOW: &str = "[flows.write]\nkind = \"stream\"\n";

    fn set(table: &str) -> DataSet {
        plan(&format!("{FLOW}[data.items]\n{table}")).data.remove(0)
    }

    fn no(table: &str) -> String {
        refused(&format!("{FLOW}[data.items]\n{table}"))
    }

    fn laid(table: &str, profile: &str, sets: &[&str]) -> Result<Plan, Error> {
        let profiles = vec![Text { place: "profiles/big.toml".into(), text: profile.into() }];
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        resolve(&Sources { profiles, sets, ..sources(&format!("{FLOW}[data.items]\n{table}")) })
    }

    #[test]
    fn what_is_left_out_follows_from_the_files_ending() {
        let csv = |delimiter| DataFormat::Csv { delimiter };
        for (file, format) in [
            ("items.csv", csv(b',')),
            ("some/Items.CSV", csv(b',')),
            ("a.jsonl", DataFormat::JsonLines),
            ("a.ndjson", DataFormat::JsonLines),
            ("payloads.bin", DataFormat::Raw { delimiter: None }),
            ("csv", DataFormat::Raw { delimiter: None }),
        ] {
            let set = set(&format!("file = \"{file}\""));
            assert_eq!((set.format, set.order), (format, Order::Sequential), "{file}");
            assert_eq!(set.file, DataFile::OfManifest(file.into()));
        }
        assert_eq!(set("file = \"a.txt\"\nformat = \"csv\"\ndelimiter = \";\"").format, csv(b';'));
        assert_eq!(set("file = \"a.csv\"\ndelimiter = \"\\t\"\norder = \"unique\"").order, Order::Unique);
        let raw = set("file = \"a.csv\"\nformat = \"raw\"\ndelimiter = \"|é\"\norder = \"random\"");
        assert_eq!((raw.format, raw.order), (DataFormat::Raw { delimiter: Some("|é".into()) }, Order::Random));
    }

    #[test]
    fn a_profile_and_set_name_other_files() {
        let file = |profile, sets: &[&str]| match laid("file = \"a.csv\"", profile, sets) {
            Ok(mut plan) => plan.data.remove(0).file,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(file("data.items.file = \"big.csv\"", &[]), DataFile::Given("profiles/big.csv".into()));
        assert_eq!(file("data.items.file = \"/big.csv\"", &[]), DataFile::Given("/big.csv".into()));
        assert_eq!(file("", &["data.items.file=../{big}.csv"]), DataFile::Given("../{big}.csv".into()));
        let plan = laid("order = \"unique\"", "", &["data.items.file=big.csv"]).expect("a file is named");
        assert_eq!(plan.data[0].file, DataFile::Given("big.csv".into()));
    }

    #[test]
    fn what_lies_over_a_manifest_adds_no_data_set() {
        let error = laid("file = \"a.csv\"", "data.itms.file = \"b.csv\"", &[]).expect_err("there is none");
        assert!(error.to_string().contains("the manifest has no data set \"itms\""), "{error}");
        assert_eq!(error.hint(), Some("did you mean `items`?"));
    }

    #[test]
    fn a_manifest_names_no_file_of_the_persons() {
        for path in ["/etc/passwd", "../a.csv", "a/../../b.csv"] {
            let message = no(&format!("file = \"{path}\""));
            assert!(message.contains("data.items.file: a manifest names files of its own folder"), "{message}");
        }
    }

    #[test]
    fn what_can_not_be_is_refused() {
        let message = no("");
        assert!(message.contains("data.items: nobody has named its `file`"), "{message}");
        assert!(message.contains("hint: --set data.items.file=PATH"), "{message}");
        assert!(no("file = \"\"").contains("data.items.file: it names no file"));
        let order = no("file = \"a.csv\"\norder = \"rnadom\"");
        assert!(
            order.contains("data.items.order: expected \"sequential\", \"random\" or \"unique\", found \"rnadom\"")
        );
        assert!(order.contains("hint: did you mean \"random\"?"), "{order}");
        assert!(no("file = \"a.csv\"\nfiel = \"b\"").contains("unknown key `fiel` in [data.items]"));
        for delimiter in ["", ";;", "é", "\\\"", "\\n"] {
            let message = no(&format!("file = \"a.csv\"\ndelimiter = \"{delimiter}\""));
            assert!(message.contains("data.items.delimiter: expected one character"), "{message}");
        }
        assert!(no("file = \"a.jsonl\"\ndelimiter = \";\"").contains("JSON lines have no delimiter"));
        assert!(no("file = \"a.bin\"\ndelimiter = \"\"").contains("nothing can't be between messages"));
    }

    #[test]
    fn a_manifests_files_are_found_whatever_else_is_in_it() {
        let text = "[flows.x]\nkind = 5\n[data.a]\nfile = \"a.csv\"\n[data.b]\n[data.c]\nfile = \"../c\"";
        assert_eq!(files_of_manifest(text), [("a".to_owned(), "a.csv".to_owned())]);
        assert_eq!(files_of_manifest("[data"), []);
    }
}
