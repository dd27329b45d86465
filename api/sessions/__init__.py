"""Sessions with a policy: what a request goes through before and after it is answered, and their routes."""
