//! Results as tools return them, made from a seed: JSON, logs, HTML, tables, code. Each has five questions, whose answers
//! stand at known places: near the beginning, in the middle, at the end, in a count.

use std::fmt::Write as _;

/// A result and what is asked about it.
pub(crate) struct Made {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) questions: Vec<Question>,
}

/// A question, and the text that answers it, which stands nowhere else.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) answer: String,
}

pub(crate) const KINDS: [&str; 5] = ["JSON", "log", "HTML", "table", "code"];

/// Returns `count` results of sizes from `least` to `most` bytes, evenly spread over their logarithms.
pub(crate) fn corpus(count: usize, least: usize, most: usize) -> impl Iterator<Item = Made> {
    (0..count).map(move |at| {
        let share = at as f64 / (count - 1).max(1) as f64;
        let size = least as f64 * (most as f64 / least as f64).powf(share);
        let mut rng = Seeded(0x9e37_79b9_7f4a_7c15 ^ (at as u64 + 1));
        let make = [json, log, html, table, code][at % KINDS.len()];
        make(&mut rng, size as usize)
    })
}

/// The generator "xorshift".
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    /// A text that stands nowhere else.
    fn mark(&mut self, prefix: &str) -> String {
        format!("{prefix}{:010x}", self.next() & 0xff_ffff_ffff)
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count).map(|_| self.one(&WORDS)).collect();
        words.join(" ")
    }
}

const WORDS: [&str; 40] = [
    "amber", "brass", "cedar", "delta", "ember", "fjord", "gravel", "harbor", "indigo", "jasper",
    "kelp", "lantern", "marble", "nickel", "opal", "pepper", "quartz", "raven", "saffron",
    "timber", "umber", "velvet", "walnut", "xenon", "yarrow", "zephyr", "anchor", "bridge",
    "canyon", "dune", "estuary", "forest", "glacier", "hill", "island", "jungle", "knoll",
    "lagoon", "meadow", "north",
];

fn question(text: impl Into<String>, answer: impl Into<String>) -> Question {
    Question { text: text.into(), answer: answer.into() }
}

/// Writes parts until there are enough bytes, and returns their number.
fn fill(
    text: &mut String,
    size: usize,
    least: usize,
    mut part: impl FnMut(&mut String, usize),
) -> usize {
    let mut count = 0;
    while text.len() < size || count < least {
        part(text, count);
        count += 1;
    }
    count
}

/// Returns the place of the part that a question is about, of about as many parts as there will be.
fn place(rng: &mut Seeded, size: usize, part: usize) -> usize {
    (size / part / 4) + rng.below((size / part / 3).max(4))
}

fn json(rng: &mut Seeded, size: usize) -> Made {
    let (line, indent) = if rng.below(2) == 0 { ("\n", "  ") } else { ("", "") };
    let (asked, other) = (place(rng, size, 170), place(rng, size, 170) + 1);
    let (price, warehouse, checksum, last) = (
        format!("{}.37", 100_000_000 + rng.below(1 << 29)),
        rng.mark("WH-"),
        rng.mark("sum-"),
        rng.mark("final-"),
    );
    let mut text = format!(
        "{{{line}\"report\": {{\"region\": \"north\", \"version\": 3}},{line}\"items\": [{line}"
    );
    let (mut name, mut id) = (String::new(), 0);
    let count = fill(&mut text, size, asked.max(other) + 3, |text, at| {
        let own_name = format!("{} {} {at}", rng.one(&WORDS), rng.one(&WORDS));
        let own_price = if at == asked { price.clone() } else { format!("{}.25", rng.below(900)) };
        let own_house = if at == other { warehouse.clone() } else { rng.one(&WORDS).to_owned() };
        let own_id = 40_000_000 + 7 * at;
        if at == asked {
            name.clone_from(&own_name);
        }
        if at == other {
            id = own_id;
        }
        let _ = write!(
            text,
            "{indent}{{\"id\": {own_id}, \"name\": \"{own_name}\", \"price\": {own_price}, \"stock\": {{\"warehouse\": \"{own_house}\", \"count\": {}}}, \"tags\": [\"{}\", \"{}\"]}},{line}",
            rng.below(99),
            rng.one(&WORDS),
            rng.one(&WORDS),
        );
    });
    let _ = write!(
        text,
        "{indent}{{\"id\": 1, \"name\": \"{last}\", \"price\": 1, \"stock\": {{}}, \"tags\": []}}{line}],{line}\"totals\": {{\"checksum\": \"{checksum}\"}}{line}}}{line}"
    );
    let questions = vec![
        question(format!("What is the price of {name}?"), price),
        question(format!("Which warehouse has the item {id}?"), warehouse),
        question("How many items are there?", format!("{} in all", count + 1)),
        question("What is the checksum of the totals?", checksum),
        question("What is the name of the last of the items?", last),
    ];
    Made { kind: KINDS[0], text, questions }
}

fn log(rng: &mut Seeded, size: usize) -> Made {
    let (asked, other, full, panic) = (
        place(rng, size, 95),
        place(rng, size, 95) + 1,
        place(rng, size, 95) + 2,
        place(rng, size, 95) + 3,
    );
    let (took, user, device, cause, end) = (
        rng.mark("took="),
        rng.mark("user="),
        rng.mark("sd-"),
        rng.mark("lease-"),
        rng.mark("reason-"),
    );
    let request = |at: usize| format!("req{:08x}", at.wrapping_mul(2_654_435_761) & 0xffff_ffff);
    let mut text = String::new();
    fill(&mut text, size, asked.max(other).max(full).max(panic) + 4, |text, at| {
        let time = format!(
            "2026-03-{:02}T{:02}:{:02}:{:02}Z",
            1 + at / 86_400 % 28,
            at / 3_600 % 24,
            at / 60 % 60,
            at % 60
        );
        let part = rng.one(&WORDS);
        let _ = if at == full {
            writeln!(text, "{time} ERROR storage {part}: device {device} has no space left")
        } else if at == panic {
            writeln!(
                text,
                "{time} WARN scheduler {part}: {cause} was not renewed\n{time} ERROR scheduler thread panicked at worker.rs:17"
            )
        } else {
            let (took, user) = (
                if at == asked { took.clone() } else { format!("took={}us", rng.below(9_000)) },
                if at == other { user.clone() } else { format!("user={}", rng.one(&WORDS)) },
            );
            writeln!(text, "{time} INFO gateway {part}: request {} done {took} {user}", request(at))
        };
    });
    let _ = writeln!(text, "2026-03-29T00:00:00Z INFO gateway stopped, {end}");
    let questions = vec![
        question(format!("How long did request {} take?", request(asked)), took),
        question(format!("Whose request was {}?", request(other)), user),
        question("Which storage device has no space left?", device),
        question("What came right before a thread panicked?", cause),
        question("Why was the gateway stopped at the end?", end),
    ];
    Made { kind: KINDS[1], text, questions }
}

fn html(rng: &mut Seeded, size: usize) -> Made {
    let line = if rng.below(2) == 0 { "\n" } else { "" };
    let (asked, other) = (place(rng, size, 210), place(rng, size, 210) + 1);
    let (title, price, stock, link, mail) = (
        rng.mark("Catalog-"),
        rng.mark("EUR-"),
        rng.mark("shelf-"),
        rng.mark("/legal/"),
        rng.mark("press-"),
    );
    let mut text = format!(
        "<!doctype html>{line}<html><head><title>{title}</title>{line}<style>td {{ color: #123 }}</style></head><body>{line}<table>{line}"
    );
    let (mut name, mut code) = (String::new(), String::new());
    fill(&mut text, size, asked.max(other) + 3, |text, at| {
        let own_name = format!("{} {} Nr. {at}", rng.one(&WORDS), rng.one(&WORDS));
        let own_code = format!("SKU{:06}", 3 * at + 100_000);
        let own_price = if at == asked { price.clone() } else { format!("{},99", rng.below(900)) };
        let own_stock = if at == other { stock.clone() } else { rng.words(2) };
        if at == asked {
            name.clone_from(&own_name);
        }
        if at == other {
            code.clone_from(&own_code);
        }
        let _ = write!(
            text,
            "<tr class=\"product\"><td><a href=\"/p/{own_code}\">{own_name}</a></td><td class=\"price\">{own_price}</td><td class=\"place\">{own_stock}</td><td>{}</td></tr>{line}",
            rng.words(4)
        );
    });
    let _ = write!(
        text,
        "</table>{line}<footer><a href=\"{link}\">Imprint</a> <a href=\"mailto:{mail}@shop.test\">Newsroom</a></footer></body></html>{line}"
    );
    let questions = vec![
        question("What is the title of the page?", title),
        question(format!("What does {name} cost?"), price),
        question(format!("In what place is {code}?"), stock),
        question("Where is the Imprint?", link),
        question("What is the address of the Newsroom?", mail),
    ];
    Made { kind: KINDS[2], text, questions }
}

fn table(rng: &mut Seeded, size: usize) -> Made {
    let of = *[',', '\t', ';'].get(rng.below(3)).unwrap_or(&',');
    let (asked, other) = (place(rng, size, 60), place(rng, size, 60) + 1);
    let (revenue, manager, owner) = (rng.mark("rev"), rng.mark("mgr"), rng.mark("own"));
    let mut text = format!("branch{of}city{of}revenue{of}manager{of}remark\n");
    let (mut branch, mut city) = (String::new(), String::new());
    let count = fill(&mut text, size, asked.max(other) + 3, |text, at| {
        let own_branch = format!("B{:07}", 5 * at + 13);
        let own_city = format!("{}ville{at}", rng.one(&WORDS));
        let own_revenue =
            if at == asked { revenue.clone() } else { rng.below(100_000).to_string() };
        let own_manager = if at == other { manager.clone() } else { rng.one(&WORDS).to_owned() };
        if at == asked {
            branch.clone_from(&own_branch);
        }
        if at == other {
            city.clone_from(&own_city);
        }
        let remark = if at % 9 == 4 {
            format!("\"{}{of} {}\"", rng.one(&WORDS), rng.one(&WORDS))
        } else {
            rng.words(2)
        };
        let _ = writeln!(
            text,
            "{own_branch}{of}{own_city}{of}{own_revenue}{of}{own_manager}{of}{remark}"
        );
    });
    let _ = writeln!(text, "B9999999{of}Endville{of}1{of}{owner}{of}last");
    let questions = vec![
        question(format!("What is the revenue of branch {branch}?"), revenue),
        question(format!("Who is the manager in {city}?"), manager),
        question("How many rows are there?", format!("{} rows", count + 1)),
        question("Who is the manager of Endville?", owner),
        question("What are the columns?", format!("branch{of}city{of}revenue")),
    ];
    Made { kind: KINDS[3], text, questions }
}

fn code(rng: &mut Seeded, size: usize) -> Made {
    let (asked, other, wrong) =
        (place(rng, size, 260), place(rng, size, 260) + 1, place(rng, size, 260) + 2);
    let (version, limit, default, ticket, end) =
        (rng.mark("1.0-"), rng.mark("0x"), rng.mark("0x"), rng.mark("BUG-"), rng.mark("exit_"));
    let mut text = format!("// generated by protoc {version}\nuse std::fmt;\n\n");
    let (mut constant, mut function) = (String::new(), String::new());
    fill(&mut text, size, asked.max(other).max(wrong) + 3, |text, at| {
        let own = format!("{}_{}_{at}", rng.one(&WORDS), rng.one(&WORDS));
        let (own_limit, own_default) = (
            if at == asked { limit.clone() } else { rng.below(999).to_string() },
            if at == other { default.clone() } else { rng.below(999).to_string() },
        );
        if at == asked {
            constant = format!("MAX_{}", own.to_uppercase());
        }
        if at == other {
            function = format!("read_{own}");
        }
        let note = if at == wrong {
            format!("// FIXME({ticket}): overflows\n    ")
        } else {
            String::new()
        };
        let _ = write!(
            text,
            "const MAX_{}: u64 = {own_limit};\n\n/// Reads the {}.\nfn read_{own}(input: &str) -> u64 {{\n    {note}let parsed = input.trim().parse();\n    // {}\n    parsed.unwrap_or({own_default})\n}}\n\n",
            own.to_uppercase(),
            rng.words(3),
            rng.words(5),
        );
    });
    let _ = writeln!(text, "fn main() {{\n    std::process::exit({end}());\n}}");
    let questions = vec![
        question("Which version of protoc is it?", version),
        question(format!("What is {constant}?"), limit),
        question(format!("What does {function} return if it cannot parse?"), default),
        question("Which ticket has the FIXME?", ticket),
        question("What does main exit with?", end),
    ];
    Made { kind: KINDS[4], text, questions }
}
