use khost_guest::prelude::*;

#[derive(SerJson, DeJson)]
pub struct Order {
    id: u64,
    #[nserde(rename = "unitPrice")]
    price: f64,
    note: Option<String>,
}

pub struct Approvals {
    approved: Topic,
}

impl Consume for Approvals {
    fn setup() -> Result<Self> {
        Ok(Approvals { approved: Topic::open("approved") })
    }

    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
        let order: Order = record.json()?;
        let approved = Order { note: Some("approved".into()), ..order };
        out.message(self.approved).key_text(order.id).value_json(&approved);
        Ok(More)
    }
}
