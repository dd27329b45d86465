"""MediaWiki's APIs (`api.php`, REST), answered from captured article pages of a wiki."""
