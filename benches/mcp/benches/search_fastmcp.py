"""The tools of `benches/search` behind the BM25 search of FastMCP, over standard streams."""

import json
import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult

SETS = Path(__file__).resolve().parents[2] / "search" / "sets"


class Fixed(Tool):
    async def run(self, arguments):
        return ToolResult(content="done")


server = FastMCP("search")
for at in range(int(sys.argv[1])):
    for name in ("developers", "machine", "office"):
        for line in (SETS / name / "tools.jsonl").read_text().splitlines():
            tool = json.loads(line)
            own = tool["name"] if at == 0 else f"{tool['name']}_{at}"
            server.add_tool(Fixed(name=own, description=tool.get("description") or "", parameters=tool["input_schema"]))
server.add_transform(BM25SearchTransform())
server.run(show_banner=False)
