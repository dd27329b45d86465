"""HTTP server: native API, imitated search APIs, MCP, and the emulated web itself, all answered from one `World`."""
