// AI SDK: tools for search, extraction and MCP: `node clients.mjs searchTavily WORDS`.

const OPTIONS = { toolCallId: "1", messages: [] };

/** Search with tavilySearch of @tavily/ai-sdk. */
export async function searchTavily(query) {
  const { tavilySearch } = await import("@tavily/ai-sdk");
  return tavilySearch().execute({ query }, OPTIONS);
}

/** Read a page with tavilyExtract of @tavily/ai-sdk. */
export async function readTavily(url) {
  const { tavilyExtract } = await import("@tavily/ai-sdk");
  return tavilyExtract().execute({ urls: [url] }, OPTIONS);
}

/** Search with webSearch of @exalabs/ai-sdk. */
export async function searchExa(query) {
  const { webSearch } = await import("@exalabs/ai-sdk");
  return webSearch().execute({ query }, OPTIONS);
}

/** Search with the MCP tools of @ai-sdk/mcp. */
export async function searchMcp(query) {
  const { experimental_createMCPClient: createClient } = await import("@ai-sdk/mcp");
  const headers = { Authorization: `Bearer ${process.env.MCP_API_KEY}` };
  const client = await createClient({ transport: { type: "http", url: `${process.env.WEBEMU_SERVER}/mcp`, headers } });
  const tools = await client.tools();
  const answer = await tools.search.execute({ query }, OPTIONS);
  await client.close();
  return answer;
}

const [name, ...values] = process.argv.slice(2);
import(import.meta.url).then(async (clients) => {
  const client = clients[name];
  console.log(JSON.stringify(await client(...values), null, 1));
});
