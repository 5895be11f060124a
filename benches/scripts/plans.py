"""The plans of the tasks of `tests/script/tasks.rs` in Python, in the same order: the same calls, the same answer.

A tool is an async function with named arguments, as in the code mode of pydantic-ai-harness; the last expression is the answer.
"""

PLANS = [
    # Who of the team has expenses above the budget?
    """\
import asyncio
people = await team()
async def over(one):
    spent, most = await asyncio.gather(expenses(person=one['id']), budget(person=one['id']))
    return one['name'] if sum(each['cents'] for each in spent) > most else None
names = await asyncio.gather(*[over(one) for one in people])
[name for name in names if name]""",
    # Which expenses of persons 1 to 5 are not approved?
    """\
import asyncio
lists = await asyncio.gather(*[expenses(person=person) for person in range(1, 6)])
[{'person': at + 1, 'open': len([one for one in each if not one['approved']])} for at, each in enumerate(lists)]""",
    # Approve the unapproved expenses of person 2 below 90 euros.
    """\
import asyncio
spent = await expenses(person=2)
at = [at for at, one in enumerate(spent) if not one['approved'] and one['cents'] < 9000]
await asyncio.gather(*[approve_expense(person=2, at=each) for each in at])
len(at)""",
    # Which restaurant did the engineers of the team spend most at, by their expenses?
    """\
import asyncio
people = [one for one in await team() if one['role'] == 'engineer']
sums = {}
for spent in await asyncio.gather(*[expenses(person=one['id']) for one in people]):
    for one in spent:
        sums[one['place']] = sums.get(one['place'], 0) + one['cents']
max(sums.items(), key=lambda one: one[1])""",
    # When are persons 1, 2 and 3 all free in the calendar of 2026-10-05? Book a room.
    """\
import asyncio
day = '2026-10-05'
lists = await asyncio.gather(*[calendar(person=person, day=day) for person in [1, 2, 3]])
hour = 8
while any(one['start'] <= hour < one['end'] for each in lists for one in each):
    hour += 1
room = [one for one in await rooms() if one['seats'] >= 4][0]
await book_room(room=room['name'], day=day, hour=hour)""",
    # How many meetings does each person of the team have in the calendar this week, 2026-10-05 to 09?
    """\
import asyncio
counts = {}
for one in await team():
    lists = await asyncio.gather(*[calendar(person=one['id'], day=f'2026-10-0{day}') for day in range(5, 10)])
    counts[one['name']] = sum(len(each) for each in lists)
counts""",
    # Which meeting rooms does nobody of persons 1 to 6 use in their calendar on 2026-10-06?
    """\
import asyncio
async def used(person):
    return [one['room'] for one in await calendar(person=person, day='2026-10-06')]
places, *lists = await asyncio.gather(rooms(), *[used(person) for person in range(1, 7)])
taken = {room for each in lists for room in each}
[one['name'] for one in places if one['name'] not in taken]""",
    # How many open tickets does each project have?
    """\
import asyncio
keys = [one['key'] for one in await projects()]
lists = await asyncio.gather(*[tickets(project=key) for key in keys])
[[key, len([one for one in each if one['state'] == 'open'])] for key, each in zip(keys, lists)]""",
    # Who of the team has the most open tickets over all projects?
    """\
import asyncio
counts = {}
for each in await asyncio.gather(*[tickets(project=one['key']) for one in await projects()]):
    for one in each:
        if one['state'] == 'open':
            counts[one['assignee']] = counts.get(one['assignee'], 0) + 1
id, count = max(sorted(counts.items()), key=lambda one: one[1])
[await person(id=id), count]""",
    # Close the tickets of project LAB that wait and have no comments.
    """\
import asyncio
quiet = []
for one in await tickets(project='LAB'):
    if one['state'] == 'waiting' and not await comments(ticket=one['id']):
        quiet.append(one['id'])
await asyncio.gather(*[close_ticket(ticket=ticket) for ticket in quiet])
quiet""",
    # Label the open tickets of project WEB with priority 4 as urgent.
    """\
urgent = [one for one in await tickets(project='WEB') if one['state'] == 'open' and one['priority'] == 4]
for one in urgent:
    await label_ticket(ticket=one['id'], label='urgent')
len(urgent)""",
    # Which ticket of project API has the most comments?
    """\
import asyncio
left = [one for one in await tickets(project='API') if one['state'] != 'closed']
lists = await asyncio.gather(*[comments(ticket=one['id']) for one in left])
counts = [len(each) for each in lists]
at = counts.index(max(counts))
[left[at], counts[at]]""",
    # Mail the lead of each project the number of its open tickets.
    """\
sent = []
for one in await projects():
    count = len([each for each in await tickets(project=one['key']) if each['state'] == 'open'])
    sent.append(await send_mail(to=one['lead'], subject=one['key'], text=f'{count} open tickets'))
len(sent)""",
    # What do the comments of the three oldest open tickets of project OPS say?
    """\
import asyncio
left = [one for one in await tickets(project='OPS') if one['state'] == 'open']
left = sorted(left, key=lambda one: one['opened'])[:3]
lists = await asyncio.gather(*[comments(ticket=one['id']) for one in left])
[each[-1]['text'] if each else 'none' for each in lists]""",
    # How many lines do the files of each repository have?
    """\
import asyncio
names = [one['name'] for one in await repositories()]
lists = await asyncio.gather(*[files(repository=name) for name in names])
[[name, sum(one['lines'] for one in each)] for name, each in zip(names, lists)]""",
    # Which person of the team owns the most lines in the files of the Rust repositories?
    """\
sums = {}
for repository in await repositories():
    if repository['language'] == 'Rust':
        for one in await files(repository=repository['name']):
            sums[one['owner']] = sums.get(one['owner'], 0) + one['lines']
id, lines = max(sorted(sums.items()), key=lambda one: one[1])
[(await person(id=id))['name'], lines]""",
    # Which repositories have a failed build as their last?
    """\
import asyncio
names = [one['name'] for one in await repositories()]
lists = await asyncio.gather(*[builds(repository=name) for name in names])
[name for name, each in zip(names, lists) if each[0]['state'] == 'failed']""",
    # Who wrote the commit of the last failed build of the repository gateway? Send them a mail.
    """\
failed = [one for one in await builds(repository='gateway') if one['state'] == 'failed'][0]
commit = [one for one in await commits(repository='gateway') if one['hash'] == failed['commit']][0]
subject = f"Build {failed['number']}"
await send_mail(to=commit['author'], subject=subject, text=f"It failed: {commit['message']}")""",
    # What is the median build time, in seconds, of each repository?
    """\
import asyncio
names = [one['name'] for one in await repositories()]
lists = await asyncio.gather(*[builds(repository=name) for name in names])
{name: sorted(one['seconds'] for one in each)[len(each) // 2] for name, each in zip(names, lists)}""",
    # Which person has made most commits over all repositories?
    """\
counts = {}
for repository in await repositories():
    for one in await commits(repository=repository['name']):
        counts[one['author']] = counts.get(one['author'], 0) + 1
id, count = max(sorted(counts.items()), key=lambda one: one[1])
[await person(id=id), count]""",
    # What do the unpaid orders of each customer come to in cents, by the price of each product?
    """\
prices = {}
sums = {}
for customer in await customers():
    total = 0
    for one in await orders(customer=customer['id']):
        if not one['paid']:
            id = one['product']
            if id not in prices:
                prices[id] = (await product(id=id))['cents']
            total += prices[id] * one['count']
    sums[customer['name']] = total
sums""",
    # Which customers have more than 8 unpaid orders?
    """\
import asyncio
people = await customers()
lists = await asyncio.gather(*[orders(customer=one['id']) for one in people])
[one['name'] for one, each in zip(people, lists) if len([order for order in each if not order['paid']]) > 8]""",
    # Reorder each product whose stock is below the count that customers 1 to 5 have in orders.
    """\
import asyncio
needed = {}
for each in await asyncio.gather(*[orders(customer=customer) for customer in range(1, 6)]):
    for one in each:
        needed[one['product']] = needed.get(one['product'], 0) + one['count']
done = []
for id, count in sorted(needed.items()):
    stock = (await product(id=id))['stock']
    if stock < count:
        done.append(await reorder(product=id, count=count - stock))
done""",
    # What is the price of product 1 in the currency of each customer, by the rate?
    """\
import asyncio
people, first = await asyncio.gather(customers(), product(id=1))
kinds = []
for one in people:
    if one['currency'] not in kinds:
        kinds.append(one['currency'])
rates = await asyncio.gather(*[rate(currency=kind) for kind in kinds])
[[kind, round(first['cents'] / each)] for kind, each in zip(kinds, rates)]""",
    # Which products have stock below 10? Get products 1 to 12.
    """\
import asyncio
everything = await asyncio.gather(*[product(id=number) for number in range(1, 13)])
[one['name'] for one in everything if one['stock'] < 10]""",
    # What did customers in Norway (NO) order most, by the count of each product?
    """\
counts = {}
for customer in await customers():
    if customer['country'] == 'NO':
        for one in await orders(customer=customer['id']):
            counts[one['product']] = counts.get(one['product'], 0) + one['count']
id, count = max(sorted(counts.items()), key=lambda one: one[1])
[(await product(id=id))['name'], count]""",
    # In which of the five cities does it not rain in the weather from 2026-10-05 to 07?
    """\
import asyncio
dry = []
for city in ['Oslo', 'Lisbon', 'Vienna', 'Prague', 'Dublin']:
    days = await asyncio.gather(*[weather(city=city, day=f'2026-10-0{day}') for day in [5, 6, 7]])
    if not any(one['rain'] for one in days):
        dry.append(city)
dry""",
    # What is the cheapest of the flights from Oslo to Lisbon with free seats from 2026-10-05 to 09?
    """\
import asyncio
days = [f'2026-10-0{day}' for day in range(5, 10)]
lists = await asyncio.gather(*[flights(**{'from': 'Oslo', 'to': 'Lisbon', 'day': day}) for day in days])
free = [{**one, 'day': day} for day, each in zip(days, lists) for one in each if one['seats'] > 0]
min(free, key=lambda one: one['cents'])""",
    # Plan a trip from Prague to Dublin and back, 2026-10-05 to 08: the cheapest flights and a hotel of 4 stars.
    """\
import asyncio
out, back, places = await asyncio.gather(
    flights(**{'from': 'Prague', 'to': 'Dublin', 'day': '2026-10-05'}),
    flights(**{'from': 'Dublin', 'to': 'Prague', 'day': '2026-10-08'}),
    hotels(city='Dublin'),
)
places = [one for one in places if one['stars'] >= 4 and one['rooms']]
{key: min(each, key=lambda one: one['cents']) for key, each in [('out', out), ('back', back), ('hotel', places)]}""",
    # Which of the five cities has the cheapest of the hotels with 5 stars and free rooms?
    """\
free = []
for city in ['Oslo', 'Lisbon', 'Vienna', 'Prague', 'Dublin']:
    for one in await hotels(city=city):
        if one['stars'] == 5 and one['rooms']:
            free.append({'city': city, **one})
min(free, key=lambda one: one['cents'])""",
    # How many unread mails are in the inbox of each person of the team?
    """\
import asyncio
people = await team()
lists = await asyncio.gather(*[inbox(person=one['id']) for one in people])
[[one['name'], len([mail for mail in each if mail['unread']])] for one, each in zip(people, lists)]""",
    # What do the unread mail messages in the inbox of person 4 ask for, by their first sentence?
    """\
import asyncio
unread = [one['id'] for one in await inbox(person=4) if one['unread']]
[one['text'].split('. ')[0] for one in await asyncio.gather(*[message(id=number) for number in unread])]""",
    # Who writes most to persons 1 to 10, by the mail in each inbox? Name the person.
    """\
import asyncio
counts = {}
for each in await asyncio.gather(*[inbox(person=number) for number in range(1, 11)]):
    for one in each:
        counts[one['from']] = counts.get(one['from'], 0) + 1
id, count = max(sorted(counts.items()), key=lambda one: one[1])
[await person(id=id), count]""",
    # Answer each unread mail about the invoice in the inbox of persons 1 to 8.
    """\
from typing import Any
sent = []
for number in range(1, 9):
    mails: list[Any] = await inbox(person=number)
    for one in mails:
        if one['unread'] and 'invoice' in one['subject']:
            sent.append(await send_mail(to=one['from'], subject='Re: ' + one['subject'], text='It is paid.'))
len(sent)""",
    # Who is on the team?
    "await team()",
    # What is the budget of person 7?
    "await budget(person=7)",
    # What is the weather in Oslo on 2026-10-05?
    "await weather(city='Oslo', day='2026-10-05')",
    # What does product 3 cost?
    "await product(id=3)",
    # Close ticket 12345.
    "await close_ticket(ticket=12345)",
    # Which hotels are in Vienna?
    "await hotels(city='Vienna')",
]
