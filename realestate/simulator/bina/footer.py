"""The footer of every bina page: many links to searches."""

from itertools import product

from realestate.simulator.bina.categories import CATEGORIES, LOCATIONS

_LINKS = "".join(
    f'<li><a href="/baki/alqi-satqi/{category.slug}?location_ids%5B%5D={number}">{name}: {category.name}</a></li>\n'
    for (name, number), category in product(LOCATIONS.items(), list(dict.fromkeys(CATEGORIES.values()))[:3])
)
FOOT = f"""<footer data-cy="footer"><p>Uydurma portal: buradakı evlər, satıcılar və qiymətlər real deyil.</p>
<ul>
{_LINKS}</ul></footer>"""
