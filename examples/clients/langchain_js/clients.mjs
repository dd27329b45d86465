// LangChain.js: search tools, a page loader and MCP tools: `node clients.mjs searchTavily WORDS`.

/** Search with the TavilySearch tool of @langchain/tavily. */
export async function searchTavily(query) {
  const { TavilySearch } = await import("@langchain/tavily");
  return new TavilySearch({ maxResults: 5 }).invoke({ query });
}

/** Read a page with the TavilyExtract tool of @langchain/tavily. */
export async function readTavily(url) {
  const { TavilyExtract } = await import("@langchain/tavily");
  return new TavilyExtract().invoke({ urls: [url] });
}

/** Search with the ExaSearchResults tool of @langchain/exa. */
export async function searchExa(query) {
  const { ExaSearchResults } = await import("@langchain/exa");
  const { default: Exa } = await import("exa-js");
  return new ExaSearchResults({ client: new Exa(process.env.EXA_API_KEY) }).invoke(query);
}

/** Search with the Serper tool of @langchain/community. */
export async function searchSerper(query) {
  const { Serper } = await import("@langchain/community/tools/serper");
  return new Serper().invoke(query);
}

/** Search with the SerpAPI tool of @langchain/community. */
export async function searchSerpapi(query) {
  const { SerpAPI } = await import("@langchain/community/tools/serpapi");
  return new SerpAPI().invoke(query);
}

/** Search with the SearchApi tool of @langchain/community. */
export async function searchSearchApi(query) {
  const { SearchApi } = await import("@langchain/community/tools/searchapi");
  return new SearchApi(process.env.SEARCHAPI_API_KEY, { engine: "google" }).invoke(query);
}

/** Search with the BraveSearch tool of @langchain/community. */
export async function searchBrave(query) {
  const { BraveSearch } = await import("@langchain/community/tools/brave_search");
  return new BraveSearch({ apiKey: process.env.BRAVE_API_KEY }).invoke(query);
}

/** Search with the GoogleCustomSearch tool of @langchain/community. */
export async function searchGoogle(query) {
  const { GoogleCustomSearch } = await import("@langchain/community/tools/google_custom_search");
  return new GoogleCustomSearch().invoke(query);
}

/** Search with the SearxngSearch tool of @langchain/community, whose base is the server's `/searxng`. */
export async function searchSearxng(query, page = 1) {
  const { SearxngSearch } = await import("@langchain/community/tools/searxng_search");
  const params = { format: "json", engines: "google", pageno: Number(page) };
  return new SearxngSearch({ apiBase: process.env.SEARX_URL, params }).invoke(query);
}

/** Search with the DuckDuckGoSearch tool of @langchain/community. */
export async function searchDuckduckgo(query) {
  const { DuckDuckGoSearch } = await import("@langchain/community/tools/duckduckgo_search");
  return new DuckDuckGoSearch({ maxResults: 5 }).invoke(query);
}

/** Read a page with the CheerioWebBaseLoader of @langchain/community. */
export async function readCheerio(url) {
  const { CheerioWebBaseLoader } = await import("@langchain/community/document_loaders/web/cheerio");
  return new CheerioWebBaseLoader(url).load();
}

/** Search with the MCP tools of @langchain/mcp-adapters. */
export async function searchMcp(query) {
  const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
  const headers = { Authorization: `Bearer ${process.env.MCP_API_KEY}` };
  const client = new MultiServerMCPClient({ web: { transport: "http", url: `${process.env.WEBEMU_SERVER}/mcp`, headers } });
  const tools = await client.getTools();
  const answer = await tools.find((tool) => tool.name === "search").invoke({ query });
  await client.close();
  return answer;
}

const [name, ...values] = process.argv.slice(2);
import(import.meta.url).then(async (clients) => {
  const client = clients[name];
  console.log(JSON.stringify(await client(...values), null, 1));
});
