//! The tools of a company, for tasks of many calls: 28 tools whose data is always the same.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use toolbox::{Tool, tool, tools};

macro_rules! rows {
    ($($name:ident { $($field:ident: $kind:ty),* $(,)? })*) => {
        $(#[derive(Serialize, JsonSchema)] struct $name { $($field: $kind),* })*
    };
}

rows! {
    Person { id: u64, name: String, role: String, city: String }
    Expense { day: String, place: String, cents: u64, approved: bool }
    Meeting { start: u64, end: u64, title: String, room: String }
    Room { name: String, seats: u64, floor: u64 }
    Project { key: String, title: String, lead: u64 }
    Ticket { id: u64, title: String, state: String, priority: u64, assignee: u64, opened: String }
    Comment { author: u64, day: String, text: String }
    Repository { name: String, language: String }
    File { path: String, lines: u64, owner: u64 }
    Commit { hash: String, author: u64, day: String, message: String }
    Build { number: u64, commit: String, state: String, seconds: u64 }
    Customer { id: u64, name: String, country: String, currency: String }
    Order { id: u64, day: String, product: u64, count: u64, paid: bool }
    Product { id: u64, name: String, cents: u64, stock: u64, supplier: String }
    Weather { city: String, day: String, degrees: i64, rain: bool }
    Flight { number: String, departs: u64, cents: u64, seats: u64 }
    Hotel { name: String, cents: u64, stars: u64, rooms: u64 }
    Mail { id: u64, from: u64, subject: String, unread: bool }
    Message { id: u64, from: u64, subject: String, text: String }
}

const CITIES: [&str; 5] = ["Oslo", "Lisbon", "Vienna", "Prague", "Dublin"];
const WORDS: [&str; 8] =
    ["login", "export", "search", "invoice", "upload", "report", "filter", "backup"];

/// Returns a number below a bound that two others determine.
fn pick(a: u64, b: u64, bound: u64) -> u64 {
    let mixed =
        (a + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b + 7).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 17) % bound
}

fn text(words: &[&str], at: u64) -> String {
    let len = words.len() as u64;
    words[usize::try_from(at % len).unwrap_or_default()].to_owned()
}

/// Returns a number for a text.
fn key(text: &str) -> u64 {
    text.bytes().fold(7, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

fn day(at: u64) -> String {
    format!("2026-10-{:02}", at % 30 + 1)
}

/// Lists the people of the team, with their roles and cities.
#[tool(read_only)]
fn team() -> Vec<Person> {
    (1..=20).map(person).collect()
}

/// Returns one person of the team by number.
#[tool(read_only, name = "person")]
fn person_of(
    /// The number of the person
    id: u64,
) -> Person {
    person(id)
}

fn person(id: u64) -> Person {
    let role = text(&["engineer", "designer", "manager", "analyst"], id);
    Person { id, name: format!("Person {id}"), role, city: text(&CITIES, id * 3) }
}

/// Lists the expenses of a person in this month: day, place, cents.
#[tool(read_only)]
fn expenses(
    /// The number of the person
    person: u64,
) -> Vec<Expense> {
    let expense = |at| Expense {
        day: day(at),
        place: format!("Restaurant {}", pick(person, at, 17)),
        cents: 8_000 + pick(person, at, 4_100),
        approved: pick(person, at, 5) > 0,
    };
    (0..50).map(expense).collect()
}

/// Returns the monthly budget of a person, in cents.
#[tool(read_only)]
fn budget(
    /// The number of the person
    person: u64,
) -> u64 {
    480_000 + pick(person, 1, 50_000)
}

/// Approves an expense of a person.
#[tool]
fn approve_expense(
    /// The number of the person
    person: u64,
    /// The position of the expense in the list, from 0
    at: u64,
) -> String {
    format!("approved expense {at} of person {person}")
}

/// Lists the meetings in the calendar of a person on a day.
#[tool(read_only)]
fn calendar(
    /// The number of the person
    person: u64,
    /// The day, as 2026-10-05
    day: &str,
) -> Vec<Meeting> {
    let meeting = |at| {
        let start = 8 + at * 2 + pick(person + key(day), at, 2);
        let (title, room) = (format!("Meeting {at}"), format!("Room {}", pick(person, at, 8)));
        Meeting { start, end: start + 1, title, room }
    };
    (0..4).map(meeting).collect()
}

/// Lists the meeting rooms with their seats.
#[tool(read_only)]
fn rooms() -> Vec<Room> {
    let room = |at: u64| Room { name: format!("Room {at}"), seats: 4 + at * 2, floor: at % 3 };
    (0..8).map(room).collect()
}

/// Books a meeting room.
#[tool]
fn book_room(
    /// The name of the room
    room: &str,
    /// The day, as 2026-10-05
    day: &str,
    /// The hour
    hour: u64,
) -> String {
    format!("booked {room} on {day} at {hour}")
}

/// Lists the projects.
#[tool(read_only)]
fn projects() -> Vec<Project> {
    let keys = ["WEB", "APP", "OPS", "API", "DOC", "LAB"];
    let project = |(at, key): (u64, &&str)| Project {
        key: (*key).to_owned(),
        title: format!("Project {key}"),
        lead: at + 1,
    };
    (0..).zip(&keys).map(project).collect()
}

/// Lists the tickets of a project: state, priority, assignee.
#[tool(read_only)]
fn tickets(
    /// The key of the project
    project: &str,
) -> Vec<Ticket> {
    let project = key(project);
    let ticket = |at| Ticket {
        id: project % 900 * 100 + at,
        title: format!("The {} fails", text(&WORDS, pick(project, at, 8))),
        state: text(&["open", "closed", "waiting"], pick(project, at, 3)),
        priority: pick(project, at + 9, 5),
        assignee: 1 + pick(project, at, 20),
        opened: day(pick(project, at, 30)),
    };
    (0..40).map(ticket).collect()
}

/// Lists the comments of a ticket.
#[tool(read_only)]
fn comments(
    /// The number of the ticket
    ticket: u64,
) -> Vec<Comment> {
    let comment = |at| Comment {
        author: 1 + pick(ticket, at, 20),
        day: day(at),
        text: format!("It still happens with the {}, in version {at}.", text(&WORDS, at + ticket)),
    };
    (0..pick(ticket, 0, 9)).map(comment).collect()
}

/// Closes a ticket.
#[tool]
fn close_ticket(
    /// The number of the ticket
    ticket: u64,
) -> String {
    format!("closed {ticket}")
}

/// Puts a label on a ticket.
#[tool]
fn label_ticket(
    /// The number of the ticket
    ticket: u64,
    /// The label
    label: &str,
) -> String {
    format!("{ticket} has {label}")
}

/// Lists the repositories.
#[tool(read_only)]
fn repositories() -> Vec<Repository> {
    let names = ["site", "mobile", "infra", "gateway", "manual", "trials"];
    let repository = |(at, name): (u64, &&str)| Repository {
        name: (*name).to_owned(),
        language: text(&["Rust", "TypeScript", "Go"], at),
    };
    (0..).zip(&names).map(repository).collect()
}

/// Lists the files of a repository with lines and owner.
#[tool(read_only)]
fn files(
    /// The name of the repository
    repository: &str,
) -> Vec<File> {
    let repository = key(repository);
    let file = |at| File {
        path: format!("src/{}/{at}.rs", text(&WORDS, at)),
        lines: 20 + pick(repository, at, 800),
        owner: 1 + pick(repository, at, 20),
    };
    (0..60).map(file).collect()
}

/// Lists the last commits of a repository.
#[tool(read_only)]
fn commits(
    /// The name of the repository
    repository: &str,
) -> Vec<Commit> {
    let repository = key(repository);
    let commit = |at| Commit {
        hash: format!("{:012x}", pick(repository, at, 1 << 46)),
        author: 1 + pick(repository, at, 20),
        day: day(at),
        message: format!("Mend the {}", text(&WORDS, pick(repository, at, 8))),
    };
    (0..30).map(commit).collect()
}

/// Lists the last builds of a repository: state and seconds.
#[tool(read_only)]
fn builds(
    /// The name of the repository
    repository: &str,
) -> Vec<Build> {
    let repository = key(repository);
    let build = |at| Build {
        number: 500 - at,
        commit: format!("{:012x}", pick(repository, at, 1 << 46)),
        state: text(&["passed", "passed", "failed"], pick(repository, at + 3, 3)),
        seconds: 60 + pick(repository, at, 900),
    };
    (0..30).map(build).collect()
}

/// Lists the customers.
#[tool(read_only)]
fn customers() -> Vec<Customer> {
    let customer = |id| Customer {
        id,
        name: format!("Customer {id}"),
        country: text(&["NO", "PT", "AT", "CZ", "IE"], id),
        currency: text(&["NOK", "EUR", "EUR", "CZK", "EUR"], id),
    };
    (1..=15).map(customer).collect()
}

/// Lists the orders of a customer.
#[tool(read_only)]
fn orders(
    /// The number of the customer
    customer: u64,
) -> Vec<Order> {
    let order = |at| Order {
        id: customer * 1_000 + at,
        day: day(pick(customer, at, 30)),
        product: 1 + pick(customer, at, 12),
        count: 1 + pick(customer, at, 9),
        paid: pick(customer, at, 4) > 0,
    };
    (0..25).map(order).collect()
}

/// Returns a product by number: price in cents, stock.
#[tool(read_only)]
fn product(
    /// The number of the product
    id: u64,
) -> Product {
    Product {
        id,
        name: format!("Product {id}"),
        cents: 500 + pick(id, 3, 9_000),
        stock: pick(id, 5, 60),
        supplier: format!("Supplier {}", id % 4),
    }
}

/// Orders more of a product from its supplier.
#[tool]
fn reorder(
    /// The number of the product
    product: u64,
    /// The count
    count: u64,
) -> String {
    format!("ordered {count} of {product}")
}

/// Returns the rate of a currency: euros for one unit.
#[tool(read_only)]
fn rate(
    /// The currency, as NOK
    currency: &str,
) -> f64 {
    match currency {
        "NOK" => 0.085,
        "CZK" => 0.04,
        _ => 1.0,
    }
}

/// Returns the weather forecast of a city on a day.
#[tool(read_only)]
fn weather(
    /// The city
    city: &str,
    /// The day, as 2026-10-05
    day: &str,
) -> Weather {
    let degrees = i64::try_from(pick(key(city), key(day), 25)).unwrap_or_default();
    let (city, day) = (city.to_owned(), day.to_owned());
    Weather { city, day, degrees, rain: degrees % 3 == 0 }
}

/// Lists the flights between two cities on a day, with price in cents and free seats.
#[tool(read_only)]
fn flights(
    /// The city of departure
    from: &str,
    /// The city of arrival
    to: &str,
    /// The day, as 2026-10-05
    day: &str,
) -> Vec<Flight> {
    let route = key(from) ^ key(to).rotate_left(7) ^ key(day).rotate_left(13);
    let flight = |at| Flight {
        number: format!("TB{}", 100 + pick(route, at, 900)),
        departs: 6 + at,
        cents: 9_000 + pick(route, at, 40_000),
        seats: pick(route, at + 5, 90),
    };
    (0..14).map(flight).collect()
}

/// Lists the hotels of a city, with price in cents and free rooms.
#[tool(read_only)]
fn hotels(
    /// The city
    city: &str,
) -> Vec<Hotel> {
    let city = key(city);
    let hotel = |at| Hotel {
        name: format!("Hotel {at}"),
        cents: 6_000 + pick(city, at, 20_000),
        stars: 1 + pick(city, at + 2, 5),
        rooms: pick(city, at, 30),
    };
    (0..25).map(hotel).collect()
}

/// Lists the mail in the inbox of a person.
#[tool(read_only)]
fn inbox(
    /// The number of the person
    person: u64,
) -> Vec<Mail> {
    let mail = |at| Mail {
        id: person * 100 + at,
        from: 1 + pick(person, at, 20),
        subject: format!("About the {}", text(&WORDS, pick(person, at, 8))),
        unread: pick(person, at, 3) == 0,
    };
    (0..30).map(mail).collect()
}

/// Returns a mail message with its text.
#[tool(read_only)]
fn message(
    /// The number of the mail
    id: u64,
) -> Message {
    let subject = format!("About the {}", text(&WORDS, pick(id / 100, id % 100, 8)));
    let line = format!("The {} of last week needs a decision by {}. ", text(&WORDS, id), day(id));
    Message { id, from: 1 + pick(id / 100, id % 100, 20), subject, text: line.repeat(12) }
}

/// Sends a mail to a person.
#[tool]
fn send_mail(
    /// The number of the person
    to: u64,
    /// The subject
    subject: &str,
    /// The text
    text: &str,
) -> String {
    format!("sent to {to}: {subject} ({} bytes)", text.len())
}

/// Returns the tools, each of which takes a time.
pub(crate) fn tools_that_take(time: Duration) -> Vec<Tool> {
    let all: Vec<Tool> = tools![
        team,
        person_of,
        expenses,
        budget,
        approve_expense,
        calendar,
        rooms,
        book_room,
        projects,
        tickets,
        comments,
        close_ticket,
        label_ticket,
        repositories,
        files,
        commits,
        builds,
        customers,
        orders,
        product,
        reorder,
        rate,
        weather,
        flights,
        hotels,
        inbox,
        message,
        send_mail
    ]
    .into_iter()
    .collect();
    let slow = move |tool: Tool| {
        tool.layer(move |next: toolbox::tool::Next| async move {
            tokio::time::sleep(time).await;
            next.run().await
        })
    };
    if time.is_zero() { all } else { all.into_iter().map(slow).collect() }
}
