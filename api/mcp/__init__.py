"""MCP, the Model Context Protocol: search and pages as tools for any model host, at `/mcp`.

It is stateless: no MCP session is opened and nothing is kept between requests.
"""
