"""The frame of every emlak page: head, menu, search form and footer."""

from itertools import chain

from realestate.simulator.emlak.facts import KINDS
from realestate.simulator.places import AZERBAIJAN


def _options(words: list[str]) -> str:
    return "".join(f'<option value="{number}">{word}</option>\n' for number, word in enumerate(words, 1))


_DISTRICTS = [f"{place.district} r." for place in AZERBAIJAN if place.district]
_METROS = [f"{metro} m." for metro in chain.from_iterable(place.metros for place in AZERBAIJAN)]
_SETTLEMENTS = [f"{name} q." for name in chain.from_iterable(place.settlements for place in AZERBAIJAN)]
_CITIES = list(dict.fromkeys(place.city for place in AZERBAIJAN))

_STYLE = """<link rel="stylesheet" href="/css/bootstrap.min.css"><link rel="stylesheet" href="/css/fotorama.css">
<style>.ticket{border:1px solid #e4e4e4;padding:10px;margin-bottom:12px}.ticket.pinned{background:#fff8e1}
.technical-characteristics dd{float:left;width:50%}.technical-characteristics .label{color:#888}
.left-bar .price .m{font-size:26px;font-weight:bold}.map-address h4{font-size:15px}</style>"""

_FORM = f"""<form class="search-form" action="/elanlar/" method="get">
<input type="hidden" name="ann_type" value="3">
<select name="announce_type"><option value="1">Satılır</option><option value="2">İcarəyə verilir</option></select>
<select name="property_type"><option value="">Əmlakın növü</option>
{_options(list(KINDS.values()))}</select>
<select name="city"><option value="">Şəhər</option>
{_options(_CITIES)}</select>
<select name="selected_regions[]" multiple>
{_options(_DISTRICTS + _SETTLEMENTS)}</select>
<select name="selected_metros[]" multiple>
{_options(_METROS)}</select>
<select name="room_min">{_options([str(number) for number in range(1, 11)])}</select>
<select name="room_max">{_options([str(number) for number in range(1, 11)])}</select>
<input name="space_min" placeholder="Sahə, min"><input name="space_max" placeholder="Sahə, maks">
<input name="price_min" placeholder="Qiymət, min"><input name="price_max" placeholder="Qiymət, maks">
<button type="submit">Axtar</button>
</form>"""

_MENU = "".join(
    f'<li><a href="/elanlar/?ann_type={number}&amp;sort_type=0">{deal} {kind.lower()}</a></li>\n'
    for number, deal in ((1, "Satılır"), (2, "İcarəyə verilir"))
    for kind in KINDS.values()
)

_SCRIPT = """<script>
var map = null;
function initMap() {
  var field = document.getElementById("google_map");
  if (!field || !field.value) { return; }
  var point = field.value.replace(/[()]/g, "").split(",");
  map = {center: {lat: parseFloat(point[0]), lng: parseFloat(point[1])}, zoom: 15};
}
document.addEventListener("DOMContentLoaded", initMap);
</script>"""


def head(title: str) -> bytes:
    return (
        f"""<!DOCTYPE html>
<html lang="az">
<head>
<meta charset="utf-8">
<title>{title} | sınaq portalı</title>
""".encode()
        + _REST_OF_HEAD
    )


_REST_OF_HEAD = f"""<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="keywords" content="daşınmaz əmlak, mənzil, həyət evi, torpaq, obyekt, ofis, qaraj, alqı-satqı, icarə">
{_STYLE}
</head>
<body>
<div class="header clearfix"><a class="logo" href="/">Əmlak</a><ul class="menu">
{_MENU}</ul><a href="/_private/kabinet">Şəxsi kabinet</a></div>
{_FORM}
<div class="container clearfix">
""".encode()

_LINKS = "".join(
    f'<li><a href="/elanlar/?ann_type=3&amp;sort_type=1">{where} {kind.lower()} elanları</a></li>\n'
    for where in _DISTRICTS + _METROS
    for kind in ("Yeni tikili", "Köhnə tikili", "Ofis")
)

FOOT = f"""</div>
<div class="footer"><p>Uydurma portal: buradakı evlər, satıcılar və qiymətlər real deyil.</p>
<ul class="footer-links">
{_LINKS}
</ul></div>
{_SCRIPT}
</body>
</html>
""".encode()
