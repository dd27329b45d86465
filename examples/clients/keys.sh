# Sets the variables in which clients look for a key, unless they are set: any key will do.
for name in \
  BING_API_KEY \
  BING_SUBSCRIPTION_KEY \
  BOCHA_API_KEY \
  BRAVE_API_KEY \
  BRAVE_SEARCH_API_KEY \
  EXA_API_KEY \
  FIRECRAWL_API_KEY \
  GOOGLE_API_KEY \
  GOOGLE_CSE_ID \
  GOOGLE_CX_KEY \
  JINA_API_KEY \
  KAGI_API_KEY \
  LINKUP_API_KEY \
  MCP_API_KEY \
  PARALLEL_API_KEY \
  PERPLEXITY_API_KEY \
  PPLX_API_KEY \
  SEARCHAPI_API_KEY \
  SEARCH_ENGINE_ID \
  SERPAPI_API_KEY \
  SERPAPI_KEY \
  SERPERDEV_API_KEY \
  SERPER_API_KEY \
  SERP_API_KEY \
  TAVILY_API_KEY \
  VALYU_API_KEY \
  YDC_API_KEY \
  YOU_API_KEY \
  ZAI_API_KEY \
  ZHIPUAI_API_KEY
do
  eval "export $name=\${$name:-any}"
done
export SEARX_URL="${WEBEMU_SERVER:-http://127.0.0.1:8800}/searxng"
export SEARX_HOST="$SEARX_URL"
