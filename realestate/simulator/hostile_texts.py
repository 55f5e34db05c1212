"""Titles and descriptions of sellers who attack whoever shows them: script, markup, templates, text of both directions,
and words of 10 kB. A reader must see each as the text that it is."""

HOSTILE_TEXTS = (
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "<svg onload=document.title='owned'>",
    "{{ 7 * 7 }} ${7*7} {% raw %}",
    "javascript:document.title='owned'",
    "\u202egnitsil desrever\u202c left to right \u2066again\u2069",
    "a title without any space " + "x" * 10_000,
    "שלום דירה للبيع شقة 房子 🏠 <b>bold</b>",
    "' OR 1=1 --",
    "\u0000nul and \u001b[31mescape"[1:],
    "]]><!--",
)
