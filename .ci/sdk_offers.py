"""Prompts, resources and completion between this framework and the official Python SDK, in both directions.

  sdk_offers.py server                            a server on the SDK, over standard streams
  sdk_offers.py client MODE EXPECTED URL|CMD …    a client of a server that offers what EXPECTED names: `conformance` (the
                                                  example of this repository) or `sdk_` (that server, mounted as `sdk`)
"""

import asyncio
import base64
import os
import sys

from mcp import Client, MCPError, StdioServerParameters, types


def serve():
    from mcp.server import MCPServer
    from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage

    server = MCPServer("sdk")

    @server.prompt(title="Review")
    def review(code: str, tone: str = "kind") -> list:
        """Reviews code."""
        return [UserMessage(f"Review {code}"), AssistantMessage(f"In a {tone} tone")]

    @server.resource("docs://manual", mime_type="text/markdown")
    def manual() -> str:
        """The manual."""
        return "# Manual"

    @server.resource("docs://logo", mime_type="image/png")
    def logo() -> bytes:
        """A picture."""
        return b"\x89PNG\x00"

    @server.resource("notes://{id}")
    def note(id: str) -> str:
        """A note."""
        if id == "none":
            raise ValueError("no such note")
        return f"Note {id}"

    @server.completion()
    async def complete(ref, argument, context):
        return types.Completion(values=[value for value in ("kind", "kinder", "stern") if value.startswith(argument.value)])

    server.run()


def text(message):
    return getattr(message.content, "text", None)


async def refused(awaited, word):
    try:
        answer = await awaited
    except MCPError as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"{word}: answered by {answer}")


async def contents(client, uri):
    (only,) = (await client.read_resource(uri)).contents
    assert str(only.uri) == uri, only
    data = only.text if hasattr(only, "text") else base64.b64decode(only.blob)
    return only.mime_type, data


async def of_conformance(client):
    listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    arguments = {argument.name: argument.required for argument in listed["test_prompt_with_arguments"].arguments}
    assert arguments == {"arg1": True, "arg2": True}, arguments
    simple = await client.get_prompt("test_simple_prompt")
    assert [(message.role, text(message)) for message in simple.messages] == [("user", "This is a simple prompt for testing.")]
    filled = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "ü"})
    assert text(filled.messages[0]) == "Prompt with arguments: arg1='a', arg2='ü'"
    embedded = await client.get_prompt("test_prompt_with_embedded_resource", {"resourceUri": "test://x"})
    assert str(embedded.messages[0].content.resource.uri) == "test://x", embedded
    image = await client.get_prompt("test_prompt_with_image")
    assert base64.b64decode(image.messages[0].content.data).startswith(b"\x89PNG"), image
    asked = await client.get_prompt("test_input_required_result_prompt")
    assert text(asked.messages[0]) == "Context: of the user", asked
    await refused(client.get_prompt("test_prompt_with_arguments", {"arg1": "a"}), "arg2")
    await refused(client.get_prompt("no_such_prompt"), "no_such_prompt")
    uris = {str(resource.uri) for resource in (await client.list_resources()).resources}
    assert {"test://static-text", "test://static-binary"} <= uris, uris
    assert await contents(client, "test://static-text") == ("text/plain", "This is the content of the static text resource.")
    kind, picture = await contents(client, "test://static-binary")
    assert kind == "image/png" and picture.startswith(b"\x89PNG")
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["test://template/{id}/data"], templates
    assert "Data for ID: 7" in (await contents(client, "test://template/7/data"))[1]
    await refused(client.read_resource("test://nothing"), "test://nothing")
    prompt = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
    found = await client.complete(prompt, {"name": "arg1", "value": "par"})
    assert found.completion.values == ["paris", "park", "party"], found


async def of_sdk(client):
    (listed,) = (await client.list_prompts()).prompts
    assert (listed.name, listed.title, listed.description) == ("sdk_review", "Review", "Reviews code."), listed
    assert [(own.name, own.required) for own in listed.arguments] == [("code", True), ("tone", False)], listed
    filled = await client.get_prompt("sdk_review", {"code": "x = 1"})
    said = [(message.role, text(message)) for message in filled.messages]
    assert said == [("user", "Review x = 1"), ("assistant", "In a kind tone")], said
    await refused(client.get_prompt("review", {"code": "x"}), "review")
    uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert sorted(uris) == ["docs://logo", "docs://manual"], uris
    assert await contents(client, "docs://manual") == ("text/markdown", "# Manual")
    assert await contents(client, "docs://logo") == ("image/png", b"\x89PNG\x00")
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "notes://{id}", template
    assert (await contents(client, "notes://7"))[1] == "Note 7"
    await refused(client.read_resource("notes://none"), "")
    prompt = types.PromptReference(type="ref/prompt", name="sdk_review")
    found = await client.complete(prompt, {"name": "tone", "value": "ki"})
    assert found.completion.values == ["kind", "kinder"], found


async def check(mode, expected, target):
    async def elicit(context, params):
        fields = params.requested_schema["properties"]
        return types.ElicitResult(action="accept", content={name: "of the user" for name in fields})

    if not target[0].startswith("http"):
        target = [StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))]
    async with Client(target[0], mode=mode, read_timeout_seconds=60, elicitation_callback=elicit) as client:
        await {"conformance": of_conformance, "sdk_": of_sdk}[expected](client)
        print("ok", expected, client.protocol_version)


if sys.argv[1] == "server":
    serve()
else:
    mode, expected, *target = sys.argv[2:]
    asyncio.run(check(mode, expected, target))
