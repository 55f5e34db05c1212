"""Ban pages with status 200: challenges, captchas and others. The text is invented. The marks of each kind (an address,
a variable, a class) are those of real ban pages."""

from collections.abc import Mapping

from realestate.simulator.site import Kind, Response

LOGIN_PATH = "/login"


def _page(title: str, body: str, head: str = "") -> bytes:
    shell = f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{title}</title>{head}</head>"
    return f"{shell}\n<body>\n{body}\n</body></html>\n".encode()


BAN_PAGES: Mapping[str, bytes] = {
    "datadome": _page(
        "simulated.example",
        "<p id='cmsg'>The invented gate wants a look at your machine.</p>",
        "<script>var dd={'rt':'c','cid':'invented','host':'geo.captcha-delivery.com'}</script>",
    ),
    "cloudflare": _page(
        "Just a moment...",
        "<h1>Invented checks are running</h1><p>You will be let through, or not.</p>"
        "<script>window._cf_chl_opt={cType:'managed',cRay:'invented'};</script>",
    ),
    "perimeterx": _page(
        "One thing first",
        "<div id='px-captcha'></div><p>Hold the invented button for a while.</p>",
        "<script>window._pxAppId='PXinvented';</script>",
    ),
    "incapsula": _page(
        "Please wait",
        "<iframe src='/_Incapsula_Resource?invented=1'>Refused in an invented way. Incapsula incident ID: 0</iframe>",
    ),
    "akamai": _page(
        "Stop", "<h1>Access Denied</h1><p>This invented page is not for you. Reference&#32;&#35;0&#46;invented</p>"
    ),
    "aws_waf": _page(
        "A test",
        "<div id='challenge-container'></div><p>Solve an invented riddle.</p>",
        "<script src='https://invented.token.awswaf.com/invented/challenge.js'></script>",
    ),
    "cloudfront": _page(
        "ERROR: The request could not be satisfied",
        "<h1>403 ERROR</h1><p>Request blocked by an invented rule.</p>",
    ),
    "kasada": _page(
        "",
        "<noscript>An invented engine wants to run.</noscript>",
        "<script>window.KPSDK={};</script><script src='/invented/ips.js'></script>",
    ),
    "ddos_guard": _page("DDOS-GUARD", "<p>Invented guards look at you.</p>"),
    "yandex": _page("Oops", "<form action='/checkcaptcha?key=invented'><button>Not a machine</button></form>"),
    "f5": _page("Request Rejected", "<p>The requested URL was rejected. Your invented support ID is: 0</p>"),
    "queue": _page("Patience", "<h1>You are now in line</h1><p>Invented people are before you.</p>"),
    "captcha": _page(
        "Are you a human?",
        "<form method='post'><div class=\"g-recaptcha\" data-sitekey='invented'></div>"
        "<p>Choose all invented houses.</p></form>",
    ),
    "consent": _page(
        "Before you continue",
        "<form method='post'><p>We and 731 invented partners value your privacy.</p><button>Agree</button></form>",
    ),
    "refused": _page("Too Many Requests", "<h1>Not now</h1><p>An invented limit was reached.</p>"),
}

LOGIN = _page("Sign in", "<form method='post'><input name='user'><input name='password' type='password'></form>")

#: Every kind of ban page. To the login page the client is redirected.
KINDS = (*BAN_PAGES, "login")


def ban_page(kind: str, requested: Kind, base: str) -> Response:
    """A ban page instead of the response."""
    if kind == "login":
        return Response(requested, b"", 302, location=base + LOGIN_PATH)
    return Response(requested, BAN_PAGES[kind])
