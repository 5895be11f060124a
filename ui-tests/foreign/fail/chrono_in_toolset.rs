use chrono::NaiveDate;
use toolbox::toolset;

struct Plan;

#[toolset]
impl Plan {
    /// Plans.
    #[tool]
    async fn plan(&self, day: &NaiveDate) -> bool {
        day == &NaiveDate::MIN
    }
}

fn main() {}
