"""Runs the tasks of `tests/script/tasks.rs` by the code modes of FastMCP and of pydantic-ai-harness, beside ours.

    TOOLBOX_FULL_TESTS=1 TOOLBOX_SCRIPT_TASKS=$PWD/tasks.json cargo test -p toolbox-tests-script costs_a_part
    pip install -r requirements.txt && python compare.py tasks.json

The tools answer what ours answered, after 50 ms. The model is a script. Counted are the bytes of all requests, in the form of OpenAI's chat, and of
the calls and the text of all replies. That this count is ours is checked by the tasks in direct calls, where both come to the same bytes.
"""

import ast
import asyncio
import dataclasses
import json
import statistics
import sys
import time
from importlib.metadata import version

from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode as FastMcpCodeMode
from fastmcp.tools import Tool as FastMcpTool
from fastmcp.tools import ToolResult
from plans import PLANS
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_harness import CodeMode

DELAY = 0.05
ANSWER = "I have it."
# One task makes 101 calls: more than the 50 of FastMCP and the 100 of pydantic-ai-harness that are the defaults.
MOST_CALLS = 1_000


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def size(text):
    return len(text.encode())


def function(name, description, parameters):
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


class Conversation:
    """The messages of a task as OpenAI's chat has them, and the bytes that went through the model."""

    def __init__(self, task):
        self.messages = [{"role": "user", "content": task}]
        self.bytes = self.requests = 0
        self.shown = ""

    def request(self, definitions):
        self.requests += 1
        self.bytes += size(compact({"model": "m", "messages": self.messages, "tools": definitions}))
        self.shown = compact(definitions)

    def calls(self, calls):
        """Adds a reply with calls and their results."""
        made, results = [], []
        for n, (name, arguments, result) in enumerate(calls):
            id, arguments = f"c{self.requests - 1}_{n}", compact(arguments)
            self.bytes += size(name) + size(arguments)
            made.append({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            results.append({"role": "tool", "tool_call_id": id, "content": result})
        self.messages += [{"role": "assistant", "content": None, "tool_calls": made}, *results]

    def answer(self):
        self.bytes += size(ANSWER)


class Tools:
    """The tools of a task, which answer what ours answered, and the calls that were made of them."""

    def __init__(self, tools, task):
        self.tools = tools
        self.outputs = {tool["name"]: tool["output"] for tool in tools}
        self.calls = [call for one in task["rounds"] for call in one]
        self.results = {self.key(call["tool"], call["arguments"]): call["result"] for call in self.calls}
        self.made = []

    @staticmethod
    def key(name, arguments):
        return name, json.dumps(arguments, sort_keys=True)

    async def call(self, name, arguments):
        self.made.append(self.key(name, arguments))
        await asyncio.sleep(DELAY)
        result = self.results[self.key(name, arguments)]
        return json.loads(result) if self.outputs[name] else result

    def needed(self):
        return sorted({call["tool"] for call in self.calls})

    def check(self, task, answer):
        """The same calls were made, and the answer is the same."""
        assert sorted(self.made) == sorted(self.key(call["tool"], call["arguments"]) for call in self.calls), (task["task"], answer)
        # Both give their models an empty list as an empty text.
        assert value(answer or "[]") == value(task["answer"]), (task["task"], answer, task["answer"])


@dataclasses.dataclass
class Cost:
    bytes: int
    requests: int
    seconds: float
    searches: int = 0


def direct(tools, task):
    conversation = Conversation(task["task"])
    for calls in task["rounds"]:
        conversation.request([tool["listed"] for tool in tools])
        conversation.calls([(call["tool"], call["arguments"], call["result"]) for call in calls])
    conversation.request([tool["listed"] for tool in tools])
    conversation.answer()
    return conversation


# pydantic-ai-harness


def pydantic_tool(tools, tool, deferred):
    async def run(**arguments):
        return await tools.call(tool["name"], arguments)

    async def with_result(_, definition):
        return dataclasses.replace(definition, return_schema=tool["output"] or {"type": "string"})

    made = Tool.from_schema(run, tool["name"], tool["description"], tool["parameters"])
    made.prepare, made.defer_loading = with_result, deferred
    return made


async def by_pydantic(all_tools, task, plan, deferred):
    tools = Tools(all_tools, task)
    conversation = Conversation(task["task"])
    searches = 0

    def model(messages, info):
        nonlocal searches
        parts = [part for message in messages[-2:] for part in message.parts]
        made = {part.tool_call_id: part for part in parts if isinstance(part, ToolCallPart)}
        results = [part for part in parts if isinstance(part, ToolReturnPart)]
        if results:
            calls = [(one.tool_name, made[one.tool_call_id].args_as_dict(), one.model_response_str()) for one in results]
            conversation.calls(calls)
        else:
            assert [type(part) for part in parts] == [UserPromptPart], parts
        assert not info.instructions
        conversation.request([function(one.name, one.description, one.parameters_json_schema) for one in info.function_tools])
        if results and results[-1].tool_name == "run_code":
            tools.check(task, results[-1].model_response_str())
            conversation.answer()
            return ModelResponse(parts=[TextPart(ANSWER)])
        missing = [name for name in tools.needed() if f"async def {name}(" not in conversation.shown]
        if not missing:
            return ModelResponse(parts=[ToolCallPart("run_code", {"code": plan}, f"c{conversation.requests - 1}_0")])
        assert deferred and searches < 5, (task["task"], missing)
        searches += 1
        queries = [task["task"]] if searches == 1 else missing
        return ModelResponse(parts=[ToolCallPart("search_tools", {"queries": queries}, f"c{conversation.requests - 1}_0")])

    made = [pydantic_tool(tools, tool, deferred) for tool in all_tools]
    agent = Agent(FunctionModel(model), tools=made, capabilities=[CodeMode(max_tool_calls=MOST_CALLS)])
    began = time.monotonic()
    await agent.run(task["task"])
    return Cost(conversation.bytes, conversation.requests, time.monotonic() - began, searches)


# FastMCP

HELPER = """\
async def call(name, params):
    got = await call_tool(name, params)
    return got['result'] if 'result' in got else got
"""


class AsCallTool(ast.NodeTransformer):
    """Writes the call of a tool as FastMCP's `call_tool` has it."""

    def __init__(self, names):
        self.names = names

    def visit_Call(self, node):
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id in self.names):
            return node
        arguments = ast.Dict([one.arg and ast.Constant(one.arg) for one in node.keywords], [one.value for one in node.keywords])
        if [one.arg for one in node.keywords] == [None]:
            arguments = node.keywords[0].value
        return ast.Call(ast.Name("call"), [ast.Constant(node.func.id), arguments], [])


def for_fastmcp(plan, names):
    """The same plan for FastMCP: results that are no objects stand below `result`, and `return` gives the answer."""
    tree = AsCallTool(names).visit(ast.parse(plan))
    tree.body[-1] = ast.Return(tree.body[-1].value)
    return HELPER + ast.unparse(ast.fix_missing_locations(tree))


def fastmcp_tool(tools, tool):
    output = tool["output"] or {"type": "string"}
    is_wrapped = output.get("type") != "object"
    if is_wrapped:
        rest = {key: value for key, value in output.items() if key != "$defs"}
        output = {"type": "object", "properties": {"result": rest}, "required": ["result"], "x-fastmcp-wrap-result": True,
                  **({"$defs": tool["output"]["$defs"]} if "$defs" in (tool["output"] or {}) else {})}

    class Recorded(FastMcpTool):
        async def run(self, arguments):
            result = await tools.call(tool["name"], arguments)
            return ToolResult(content=compact(result), structured_content={"result": result} if is_wrapped else result)

    return Recorded(name=tool["name"], description=tool["description"], parameters=tool["parameters"], output_schema=output)


async def by_fastmcp(all_tools, task, plan, steps):
    """Searches, reads schemas and executes, as the descriptions of FastMCP's tools say; with two steps, the search returns the schemas of ten tools, as many as ours."""
    tools = Tools(all_tools, task)
    server = FastMCP("company", transforms=[FastMcpCodeMode(max_tool_calls=MOST_CALLS)])
    for tool in all_tools:
        server.add_tool(fastmcp_tool(tools, tool))
    plan = for_fastmcp(plan, tools.outputs)
    conversation = Conversation(task["task"])
    searches = 0
    async with Client(server) as client:
        began = time.monotonic()
        listed = [function(one.name, one.description, one.input_schema) for one in await client.list_tools()]

        async def call(name, arguments):
            conversation.request(listed)
            result = await client.call_tool(name, arguments)
            text = "".join(part.text for part in result.content)
            conversation.calls([(name, arguments, text)])
            return text

        missing, query = tools.needed(), task["task"]
        more = {"detail": "detailed", "limit": 10} if steps == 2 else {}
        while missing:
            assert searches < 5, (task["task"], missing)
            searches += 1
            found = await call("search", {"query": query, **more})
            marks = ["### {}\n"] if steps == 2 else ["- {}:"]
            missing = [name for name in missing if not any(mark.format(name) in found for mark in marks)]
            query = " ".join(missing)
        if steps == 3:
            await call("get_schema", {"tools": tools.needed()})
        answer = await call("execute", {"code": plan})
        conversation.request(listed)
        conversation.answer()
        seconds = time.monotonic() - began
    tools.check(task, answer)
    return Cost(conversation.bytes, conversation.requests, seconds, searches)


# The table


def ours(key):
    async def run(_, task, __):
        return Cost(task[key]["bytes"], task[key]["requests"], task[key]["ms"] / 1000)

    return run


WAYS = {
    "direct calls": ours("direct"),
    "run_script beside the list": ours("listed"),
    "run_script, tools found": ours("found"),
    "pydantic-ai-harness": lambda *task: by_pydantic(*task, deferred=False),
    "pydantic-ai-harness, tools found": lambda *task: by_pydantic(*task, deferred=True),
    "FastMCP": lambda *task: by_fastmcp(*task, steps=3),
    "FastMCP, schemas by search": lambda *task: by_fastmcp(*task, steps=2),
}


async def main():
    with open(sys.argv[1]) as file:
        exported = json.load(file)
    results, tasks = exported["results"], exported["tasks"]
    tools = [{"listed": one, "output": results[one["function"]["name"]], **one["function"]} for one in exported["tools"]]
    assert len(PLANS) == len(tasks)
    for task in tasks:
        conversation = direct(tools, task)
        assert (conversation.bytes, conversation.requests) == (task["direct"]["bytes"], task["direct"]["requests"]), task["task"]
    for package in ["fastmcp", "pydantic-ai-harness", "pydantic-ai-slim", "pydantic-monty"]:
        print(package, version(package))
    print("| way | tasks | requests, median (most) | bytes, median (most) | part, median (least, most) | seconds | searched again |")
    print("|---|---|---|---|---|---|---|")
    for name, run in WAYS.items():
        costs = [(task, await run(tools, task, plan)) for task, plan in zip(tasks, PLANS)]
        for kind, chosen in [("several calls", costs[:34]), ("one call", costs[34:])]:
            requests = [cost.requests for _, cost in chosen]
            sizes = [cost.bytes for _, cost in chosen]
            parts = [cost.bytes / task["direct"]["bytes"] for task, cost in chosen]
            again = sum(cost.searches > 1 for _, cost in chosen)
            print(f"| {name} | {len(chosen)} of {kind} | {statistics.median(requests):g} ({max(requests)}) "
                  f"| {statistics.median_high(sizes):,} ({max(sizes):,}) "
                  f"| {statistics.median_high(parts):.2f} ({min(parts):.2f}, {max(parts):.2f}) "
                  f"| {sum(cost.seconds for _, cost in chosen):.1f} | {again} |", flush=True)


asyncio.run(main())
