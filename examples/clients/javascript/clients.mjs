// npm packages: those of services, HTTP clients, MCP and a browser: `node clients.mjs searchTavily WORDS`.

/** Search with @tavily/core. */
export async function searchTavily(query) {
  const { tavily } = await import("@tavily/core");
  return tavily({ apiKey: process.env.TAVILY_API_KEY }).search(query);
}

/** Read a page with @tavily/core. */
export async function readTavily(url) {
  const { tavily } = await import("@tavily/core");
  return tavily({ apiKey: process.env.TAVILY_API_KEY }).extract([url]);
}

/** Search with exa-js. */
export async function searchExa(query) {
  const { default: Exa } = await import("exa-js");
  return new Exa(process.env.EXA_API_KEY).search(query);
}

/** Search with @mendable/firecrawl-js. */
export async function searchFirecrawl(query) {
  const { default: Firecrawl } = await import("@mendable/firecrawl-js");
  return new Firecrawl({ apiKey: process.env.FIRECRAWL_API_KEY }).search(query);
}

/** Read a page with @mendable/firecrawl-js. */
export async function readFirecrawl(url) {
  const { default: Firecrawl } = await import("@mendable/firecrawl-js");
  return new Firecrawl({ apiKey: process.env.FIRECRAWL_API_KEY }).scrape(url, { formats: ["markdown"] });
}

/** Search with linkup-sdk. */
export async function searchLinkup(query) {
  const { LinkupClient } = await import("linkup-sdk");
  const client = new LinkupClient({ apiKey: process.env.LINKUP_API_KEY });
  return client.search({ query, depth: "standard", outputType: "searchResults" });
}

/** Search with @perplexity-ai/perplexity_ai. */
export async function searchPerplexity(query) {
  const { default: Perplexity } = await import("@perplexity-ai/perplexity_ai");
  return new Perplexity().search.create({ query, max_results: 5 });
}

/** Search with parallel-web. */
export async function searchParallel(query) {
  const { default: Parallel } = await import("parallel-web");
  return new Parallel().search({ objective: query, search_queries: [query] });
}

/** Search with serpapi. */
export async function searchSerpapi(query, page = 1) {
  const { getJson } = await import("serpapi");
  return getJson({ engine: "google", api_key: process.env.SERPAPI_API_KEY, q: query, start: 10 * (page - 1) });
}

/** Search with duck-duck-scrape. */
export async function searchDuckduckgo(query) {
  const { search } = await import("duck-duck-scrape");
  return search(query);
}

/** Search with @modelcontextprotocol/sdk. */
export async function searchMcp(query) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const headers = { Authorization: `Bearer ${process.env.MCP_API_KEY}` };
  const client = new Client({ name: "agent", version: "1" });
  const address = new URL(`${process.env.WEBEMU_SERVER}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
  const answer = await client.callTool({ name: "search", arguments: { query } });
  await client.close();
  return answer;
}

/** Read a page with axios. */
export async function readAxios(url) {
  const { default: axios } = await import("axios");
  return (await axios.get(url)).data;
}

/** Read a page with got. */
export async function readGot(url) {
  const { default: got } = await import("got");
  return (await got(url, { retry: { limit: 0 } })).body;
}

/** Read a page with the CheerioCrawler of crawlee. */
export async function readCrawlee(url) {
  const { CheerioCrawler, Configuration } = await import("crawlee");
  const pages = [];
  const crawler = new CheerioCrawler(
    { maxRequestRetries: 0, requestHandler: async ({ body }) => pages.push(body.toString()) },
    new Configuration({ persistStorage: false }),
  );
  await crawler.run([url]);
  return pages;
}

/** Read a page with puppeteer-core and the system's Chromium. */
export async function readPuppeteer(url) {
  const { default: puppeteer } = await import("puppeteer-core");
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.goto(url);
    return await page.evaluate(() => document.body.innerText);
  } finally {
    await browser.close();
  }
}

const [name, ...values] = process.argv.slice(2);
import(import.meta.url).then(async (clients) => {
  const client = clients[name];
  console.log(JSON.stringify(await client(...values), null, 1));
});
