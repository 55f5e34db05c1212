class ClientHeaderMiddleware:
    """Tells the shop which client asks."""

    def process_request(self, request):
        request.headers.setdefault("X-Client", "bookshop-crawler")
