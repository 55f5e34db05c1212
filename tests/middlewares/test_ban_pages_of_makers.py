"""Ban pages of each maker, all invented, and ordinary pages that load the same scripts or write about them."""

import pytest

from realestate.middlewares.bans import BanRule, BanRules, read_ban_rules

RULES = read_ban_rules()
URL = "https://portal.example/homes/5"
#: What a visitor of an ordinary page reads: far more than on any ban page.
PROSE = "<p>A bright home with two rooms, a balcony and a view of the invented river. Price 250 000. </p>" * 60


def page(title: str, body: str = "", head: str = "") -> bytes:
    shell = f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title>{head}</head>"
    return f"{shell}<body>{body}</body></html>".encode()


def script(text: str) -> str:
    return f"<script>{text}</script>"


def loads(address: str) -> str:
    return f'<script src="{address}"></script>'


#: name -> kind, title, body, head
MAKERS: dict[str, tuple[str, str, str, str]] = {
    "datadome, captcha": ("datadome", "portal.example", "", loads("https://ct.captcha-delivery.com/c.js")),
    "datadome, interstitial": ("datadome", "", "", loads("https://ct.captcha-delivery.com/interstitial.js")),
    "cloudflare, managed": ("cloudflare", "Just a moment...", "", script("window._cf_chl_opt={cvId:'3'}")),
    "cloudflare, German": ("cloudflare", "Einen Moment, bitte...", "<p>Wir prüfen</p>", ""),
    "cloudflare, Russian": ("cloudflare", "Один момент…", "", ""),
    "cloudflare, five seconds": (
        "cloudflare",
        "x",
        "<p>Checking your browser before accessing portal.example</p>",
        "",
    ),
    "cloudflare, 1020": (
        "cloudflare",
        "Access denied | portal.example used Cloudflare to restrict access",
        "<h1>Error 1020</h1>",
        "",
    ),
    "cloudflare, 1015": ("cloudflare", "x", '<span class="cf-error-code">1015</span> You are being rate limited', ""),
    "cloudflare, bare": ("cloudflare", "", "error code: 1020", ""),
    "human, press and hold": ("perimeterx", "Access to this page has been denied", '<div id="px-captcha"></div>', ""),
    "human, words": ("perimeterx", "x", "<h1>Press &amp; Hold to confirm you are a human</h1>", ""),
    "human, tag only": ("perimeterx", "x", "", script("window._pxAppId='PXinvented'")),
    "imperva, frame": ("incapsula", "", '<iframe src="/_Incapsula_Resource?x=1">Incapsula incident ID: 1</iframe>', ""),
    "imperva, interruption": ("incapsula", "Pardon Our Interruption", "<p>Something made us think</p>", ""),
    "distil": ("incapsula", "x", '<form id="distilCaptchaForm"></form>', ""),
    "akamai, edge": (
        "akamai",
        "Access Denied",
        "<h1>Access Denied</h1>You don't have permission. Reference&#32;&#35;18&#46;1",
        "",
    ),
    "akamai, plain": ("akamai", "x", "Access Denied. https://errors.edgesuite.net/18.1", ""),
    "akamai, interstitial": ("akamai", "", '<div id="sec-if-cpt-container"></div>', ""),
    "aws, challenge": ("aws_waf", "", "<div id=challenge-container></div>", script("window.gokuProps={key:'x'}")),
    "aws, captcha": ("aws_waf", "Human", "", loads("https://x.captcha-sdk.awswaf.com/captcha.js")),
    "cloudfront": (
        "cloudfront",
        "ERROR: The request could not be satisfied",
        "<h1>403 ERROR</h1>Request blocked. We can't connect to the server",
        "",
    ),
    "kasada": ("kasada", "", "", script("window.KPSDK={}") + loads("/a/b/ips.js?x=1")),
    "hcaptcha, frame": ("captcha", "Verify", '<iframe src="https://newassets.hcaptcha.com/captcha/v1/x"></iframe>', ""),
    "words, humanity": ("captcha", "Portal", "<h1>Prove your humanity</h1><p>Complete the challenge</p>", ""),
    "geetest": ("geetest", "x", "", loads("https://static.geetest.com/v4/gt4.js")),
    "sucuri, refused": ("sucuri", "Portal", "Sucuri WebSite Firewall - Access Denied", ""),
    "sucuri, script": ("sucuri", "You are being redirected...", "", script("sucuri_cloudproxy_js='';S='x'")),
    "queue-it": ("queue", "x", "You are now in line", loads("https://static.queue-it.net/script/x.js")),
    "waiting room": ("queue", "x", "<h1>Virtual waiting room</h1>", ""),
    "f5": ("f5", "Request Rejected", "The requested URL was rejected. Your support ID is: 1", ""),
    "f5, script": ("f5", "", "Please enable JavaScript to view the page content.", script("window.bobcmn='1'")),
    "stackpath": ("stackpath", "Verifying your browser", "", loads("https://x.stackpath.com/a.js")),
    "siteground": (
        "siteground",
        "Robot Challenge",
        '<meta http-equiv=refresh content="0;/.well-known/sgcaptcha/?r=1">',
        "",
    ),
    "ddos-guard": ("ddos_guard", "DDOS-GUARD", "Checking your browser", ""),
    "ddos-guard, script": ("ddos_guard", "x", "", loads("https://check.ddos-guard.net/check.js")),
    "qrator": ("qrator", "403", "", loads("/__qrator/qauth.js")),
    "variti": ("variti", "x", "", loads("https://id.servicepipe.ru/x.js")),
    "yandex": ("yandex", "x", '<form action="/checkcaptcha?key=1"></form>', ""),
    "yandex, smartcaptcha": ("yandex", "x", "", loads("https://smartcaptcha.yandexcloud.net/captcha.js")),
    "reblaze": ("reblaze", "", "", script("window.rbzns={bereshit:'1'}")),
    "radware": ("radware", "Radware Captcha Page", "<p>We apologize</p>", ""),
    "radware, script": ("radware", "x", "", loads("https://cas.avalon.perfdrive.com/x.js")),
    "wordfence": ("wordfence", "x", "Your access to this site has been limited by the site owner", ""),
    "alibaba": ("alibaba", "x", "", script("location='/_____tmd_____/punish?x5secdata=1'")),
    "arkose": ("arkose", "x", "", loads("https://client-api.arkoselabs.com/v2/x/api.js")),
    "vercel": ("vercel", "Vercel Security Checkpoint", "We're verifying your browser", ""),
    "anubis": ("anubis", "Making sure you&#39;re not a bot!", "<p>Loading...</p>", ""),
    "firewall": ("web_firewall", "406 Not Acceptable", "This error was generated by Mod_Security.", ""),
    "recaptcha": ("captcha", "Portal", "", loads("https://www.google.com/recaptcha/api.js")),
    "hcaptcha": ("captcha", "Portal", "<div class='h-captcha'></div>", ""),
    "turnstile": ("captcha", "Portal", '<div class="cf-turnstile"></div>', ""),
    "unusual traffic": ("captcha", "Portal", "Our systems have detected unusual traffic from your network", ""),
    "robot, German": ("captcha", "Portal", "Bitte bestätigen Sie, dass Sie kein Roboter sind", ""),
    "robot, French": ("captcha", "Êtes-vous un robot ?", "", ""),
    "robot, Spanish": ("captcha", "Portal", "Confirma que no eres un robot", ""),
    "robot, Italian": ("captcha", "Portal", "Conferma che non sei un robot", ""),
    "robot, Portuguese": ("captcha", "Portal", "Confirme que não é um robô", ""),
    "robot, Polish": ("captcha", "Portal", "Potwierdź, że nie jesteś robotem", ""),
    "robot, Dutch": ("captcha", "Portal", "Bevestig dat u geen robot bent", ""),
    "robot, Russian": ("captcha", "Портал", "Подтвердите, что вы не робот", ""),
    "robot, Turkish": ("captcha", "Portal", "Robot olmadığınızı doğrulayın", ""),
    "refused, Russian": ("refused", "Доступ запрещён", "", ""),
    "refused, Turkish": ("refused", "Portal", "<h1>Erişim Engellendi</h1>", ""),
    "refused, Spanish": ("refused", "Portal", "<h2 class='x'>Acceso denegado</h2>", ""),
    "refused, Azerbaijani": ("refused", "Giriş qadağandır", "", ""),
    "refused, address": ("refused", "Portal", "<p>Your IP address has been blocked.</p>", ""),
    "no script": ("script_required", "Portal", "Enable JavaScript and cookies to continue", ""),
}


@pytest.mark.parametrize("status", [200, 403, 429, 503])
@pytest.mark.parametrize("name", MAKERS)
def test_a_ban_page_is_recognised_with_any_status(name: str, status: int) -> None:
    kind, title, body, head = MAKERS[name]
    assert RULES.kind_of(status, URL, page(title, body, head)) == kind


#: What walls say in many languages: kind -> titles, and texts of the page.
SAID: dict[str, tuple[list[str], list[str]]] = {
    "captcha": (
        ["Let's verify you're human", "Verify that you are human"],
        [
            "Please complete the security check to access portal.example",
            "We have detected suspicious activity from your connection",
            "Our systems detected automated behavior",
            "Please solve this puzzle so we know you are a real person",
            "We want to make sure it is actually you and not a robot",
            "Something about your browser made us think you might be a bot",
            "Slide to verify",
            "Bitte bestätigen Sie, dass Sie ein Mensch sind",
            "Vérifiez que vous êtes humain",
            "Verifica que eres humano",
            "Verifica di essere umano",
            "Verifique se você é humano",
            "Potwierdź, że jesteś człowiekiem",
            "Bevestig dat u een mens bent",
            "İnsan olduğunuzu doğrulayın",
            "Olağan dışı erişim tespit ettik",
            "Ověřte, že jste člověk",
            "Bekräfta att du är en människa",
            "Igazolja, hogy nem robot",
            "Підтвердіть, що ви не робот",
            "请完成安全验证",
        ],
    ),
    "refused": (
        [
            "Zugriff blockiert",
            "Přístup odepřen",
            "Prístup odmietnutý",
            "Hozzáférés megtagadva",
            "Достъпът е отказан",
            "Доступ заборонено",
            "Tilgang nektet",
            "Απαγορεύεται η πρόσβαση",
            "Prieiga uždrausta",
            "アクセスが拒否されました",
            "访问被拒绝",
            "تم رفض الوصول",
            "Bot Protection",
            "Access temporarily restricted",
        ],
        [
            "¡Vaya! Estamos recibiendo muchas peticiones tuyas en poco tiempo",
            "Zu viele Anfragen von Ihrer IP-Adresse",
            "Trop de requêtes",
            "Troppe richieste",
            "Muitas solicitações",
            "Zbyt wiele żądań",
            "Te veel verzoeken",
            "Prea multe cereri",
            "Příliš mnoho požadavků",
            "Слишком много запросов с вашего адреса",
            "Çok fazla istek gönderdiniz",
            "Your request could not be processed. Please note that your reference ID is 1",
            "Access Denied",
            "403 Forbidden",
        ],
    ),
    "queue": (
        ["Warteschlange", "File d'attente"],
        ["Sie befinden sich in der Warteschlange", "Estás en la cola", "Your estimated wait time is 5 minutes"],
    ),
}


@pytest.mark.parametrize("kind", SAID)
def test_what_walls_say_is_recognised_in_many_languages(kind: str) -> None:
    titles, texts = SAID[kind]
    assert [each for each in titles if RULES.kind_of(200, URL, page(each)) != kind] == []
    assert [each for each in texts if RULES.kind_of(200, URL, page("Portal", f"<p>{each}</p>")) != kind] == []


@pytest.mark.parametrize("kind", SAID)
def test_a_listing_may_contain_the_same_words(kind: str) -> None:
    for text in SAID[kind][1]:
        assert RULES.kind_of(200, URL, page("Flat with two rooms", f"<h1>Flat</h1><p>{text}</p>{PROSE}")) is None


#: Marks in scripts and addresses. A page that only loads such a script is an ordinary one.
LOADED = [name for name, (kind, _, _, head) in MAKERS.items() if head and "_cf_chl_opt" not in head]


@pytest.mark.parametrize("name", LOADED)
def test_a_listing_that_loads_the_same_script_is_no_ban_page(name: str) -> None:
    _, _, _, head = MAKERS[name]
    assert RULES.kind_of(200, URL, page("Flat with two rooms", f"<h1>Flat</h1>{PROSE}", head)) is None


ORDINARY = {
    "an article about captchas": ("What is a captcha? Are you a robot?", f"<h1>What is a captcha</h1>{PROSE}"),
    "an article about bans": ("Access denied: how portals ban", f"<h1>Access denied</h1>{PROSE}"),
    "an agency named Access": ("Access Estates, agents in Town", "<h1>Access Estates</h1><p>Homes with access</p>"),
    "a street of that name": ("Flat, Security Lane 5", "<h1>Security Lane 5</h1><p>Forbidden City view. 403 m²</p>"),
    "a contact form with a captcha": ("Flat", f'{PROSE}<form><div class="g-recaptcha" data-x></div></form>'),
    "a short page with a contact form": (
        "Flat",
        "<p>Two rooms, 45 m², third floor, balcony. Call us. </p>" * 15 + '<div class="g-recaptcha"></div>',
    ),
    "a home that cannot be entered": ("House", "<p>The cellar: access denied. Too many requests for visits.</p>"),
    "a moment": ("Just a momentary lapse: villa by the sea", PROSE),
    "a waiting list": ("Flats", "<h1>Flats with a waiting list</h1><p>You are in good company</p>"),
    "no results": ("No homes found", "<h1>No homes found</h1><p>Try another search.</p>"),
    "a listing that is gone": ("Home", "<h1>This advert is no longer available</h1>"),
    "an empty shell": ("Portal", "<div id=root></div><script src=/app.js></script>"),
    "a cookie wall in the page": ("Flat", f"<div class=cookie>We use cookies. Before you continue</div>{PROSE}"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_page_is_no_ban_page(name: str) -> None:
    title, body = ORDINARY[name]
    assert RULES.kind_of(200, URL, page(title, body)) is None


def test_only_what_a_visitor_sees_counts_as_text() -> None:
    rules = BanRules([BanRule(kind="x", body=("mark",), shorter=20)])
    hidden = "<style>" + "a" * 500 + "</style><script>mark" + "b" * 500 + "</script>"
    assert rules.kind_of(200, URL, page("t", hidden + "<p class='cccccccccccccccccccccccccccc'>short</p>")) == "x"
    assert rules.kind_of(200, URL, page("t", hidden + "<p>a text that is longer than that</p>")) is None
    assert rules.kind_of(200, URL, b"<script>mark, and the page was cut off here") == "x"


def test_a_heading_is_the_title_or_a_heading() -> None:
    rules = BanRules([BanRule(kind="x", heading="^stop here")])
    assert rules.kind_of(200, URL, page("Stop here")) == "x"
    assert rules.kind_of(200, URL, page("t", "<h2 class=a><b>STOP here</b></h2>")) == "x"
    assert rules.kind_of(200, URL, page("t", "<p>stop here</p>")) is None
