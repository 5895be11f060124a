"""The client of a recorded session, by the official Python SDK.

  recorded.py COMMAND …
"""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(command, *arguments):
    server = StdioServerParameters(command=command, args=list(arguments))
    async with Client(server, mode="legacy", read_timeout_seconds=30) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "get-sum" in tools, tools

        async def call(name, given, **options):
            return (await client.call_tool(name, given, **options)).content[0].text

        assert await call("echo", {"message": "héllo"}) == "Echo: héllo"
        assert "5" in await call("get-sum", {"a": 2, "b": 3})
        steps = []

        async def note(progress, total, message):
            steps.append(progress)

        await call("trigger-long-running-operation", {"duration": 1, "steps": 2}, progress_callback=note)
        assert steps == [1, 2], steps
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "simple-prompt" in prompts, prompts
        resources = (await client.list_resources()).resources
        assert len((await client.read_resource(resources[0].uri)).contents) == 1
        if "replay" in arguments:
            try:
                await call("get-sum", {"a": 2, "b": 4})
            except MCPError as error:
                assert "at arguments.b: recorded 3, now 4" in str(error), error
            else:
                raise AssertionError("a call that was not recorded is answered")
        print(f"{len(tools)} tools, progress {steps}, {len(prompts)} prompts: the Python SDK")


asyncio.run(main(*sys.argv[1:]))
