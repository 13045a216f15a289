"""Words around a call that tell that it is shown: examples, quotations, warnings, in some languages. No I/O.

Each row is a fact about how people write. A cue counts in the clause that ends at the call, because "I have seen
the example." before it says nothing; and where the clause says what the model is about to do, what it is
about to do it with is no cue: "Let me check the format of the file:".
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, cast

CLAUSE_CHARS: Final = 160
"""Characters of the last clause that are looked at, and as many behind the call. Lead-ins are shorter."""

_WORD: Final = r"(?:[\w'\u2019\-]+[ \t]+)"

_LATIN: Final = (
    # English
    r"something like|such (?:an? )?(?:\w+ )?calls?|as in|for (?:example|instance|reference|illustration|comparison)|in (?:this|that|the following) way|(?:eg|ex|bsp|ej)\b\.?(?=[\s:]*\Z)|e\.g\.?|i\.e\.?|such as|(?:exactly |just )?like (?:this|so|that)|look(?:s|ed|ing)? (?:like|as follows)",
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish
    r"zum beispiel|beispielsweise|beispiel|z\.\s?b\.?|etwa so|(?:sieht|s\xe4he|sehen) so aus|so (?:sieht|s\xe4he|sehen)\b[^.\n]{0,30} aus|so auss(?:ehen|ieht)",
    r"par exemple|p\.\s?ex\.?|comme (?:ceci|cela|\xe7a|suit)",
    r"por ejemplo|p\.\s?ej\.?|como (?:este|esto|sigue)|de esta (?:forma|manera)|as\xed",
    r"por exemplo|desta (?:forma|maneira)|como (?:isto|este)|assim",
    r"per esempio|ad esempio|cos\xec|bijvoorbeeld|na przyk\u0142ad",
)
_OTHER: Final = (
    "\u4f8b\u5982|\u6bd4\u5982|\u8b6c\u5982|\u4e3e\u4f8b|\u50cf\u8fd9\u6837|\u5982\u4e0b\u6240\u793a",
    "\u4f8b\u3048\u3070|\u305f\u3068\u3048\u3070|\u4f8b[:\uff1a]?$|\u3053\u306e\u3088\u3046\u306b|\u6b21\u306e\u3088\u3046\u306b|\u306e\u3088\u3046\u306a",
    r"\u043d\u0430\u043f\u0440\u0438\u043c\u0435\u0440|\u0432\u043e\u0442 \u0442\u0430\u043a|\u0442\u0430\u043a\u0438\u043c \u043e\u0431\u0440\u0430\u0437\u043e\u043c|\u0441\u043b\u0435\u0434\u0443\u044e\u0449\u0438\u043c \u043e\u0431\u0440\u0430\u0437\u043e\u043c",
    "\uc608\ub97c \ub4e4\uc5b4|\uc608:|\uc774\ub807\uac8c",
)
_ALWAYS: Final = re.compile(
    rf"(?:\b(?:{'|'.join(_LATIN)})|{'|'.join(_OTHER)})"
    r"(?:\s+(?:is|was|are|be|of|follows?|below|here|this|would|could|one|a|an|the|call|tool|function)\b){0,4}"
    r"[\s\"'`*_]{0,4}[,:\uff1a\u2014\-]?[\s\"'`*_]{0,8}\Z",
    re.IGNORECASE,
)
"""What shows whatever the clause says before."""

_NOUNS: Final = (
    (
        r"examples?|formats?|syntax|templates?|schemas?|samples?|snippets?|illustrations?|demonstrations?|placeholders?|pseudo-?code|"
        r"options?|alternatives?|variants?|hypothetical(?:ly)?|imagine|suppose|pretend|(?:valid|typical|possible|proper|well-formed|legal) (?:tool |function )?calls?|"
        r"as follows|instructions?|quot(?:e|ation|ations|es)|excerpts?|(?:request )?(?:body|payload)|what (?:is|'s) wrong|"
        r"(?:failed|failing|wrong|malformed|broken|bad|previous|earlier|old|blocked|rejected|denied|declined|cancell?ed|skipped|pending|executed) (?:\w+ )?calls?|calls? (?:that|which) (?:failed|was|were|worked|is|are)|"
        r"how (?:to|you|one|a|the|it|they|tools?|calls?)|what (?:a|the) [\w ]{0,20}calls?"
    ),
    r"beispiele?|vorlage|muster|formate?|variante|angenommen",
    r"exemples?|mod\xe8le|syntaxe|variante",
    r"ejemplos?|formato|plantilla|sintaxis|muestra",
    r"exemplos?|modelo|sintaxe|amostra",
    r"esempio|esempi|formato|sintassi|voorbeeld|formaat|przyk\u0142ad(?:y|em)?|\xf6rnek|\xf6rne\u011fin",
)
_NOUNS_OTHER: Final = (
    "\u8fd9\u6837(?:\u5199|\u8c03\u7528|\u505a)|\u65b9\u5f0f\u5982\u4e0b|\u5199\u6cd5|\u4f8b[\uff09)]|\u4ee5\u4e0b\u306e\u3088\u3046|\u0442\u0430\u043a:|\u4f8b(?:\u3092|\u3067\u3059|\u3068\u3057\u3066|\u306f|\u306e)",
    "\u793a\u4f8b|\u4f8b\u5b50|\u8303\u4f8b|\u6837\u4f8b|\u683c\u5f0f|\u6a21\u677f|\u8bed\u6cd5",
    "\u5f62\u5f0f|\u66f8\u5f0f|\u30d5\u30a9\u30fc\u30de\u30c3\u30c8|\u30b5\u30f3\u30d7\u30eb|\u69cb\u6587",
    r"\u043f\u0440\u0438\u043c\u0435\u0440\w*|\u0444\u043e\u0440\u043c\u0430\u0442\w*|\u043e\u0431\u0440\u0430\u0437\u0435\u0446|\u0448\u0430\u0431\u043b\u043e\u043d\w*|\u0441\u0438\u043d\u0442\u0430\u043a\u0441\u0438\u0441\w*",
    "\uc608\uc2dc|\ud615\uc2dd|\u0645\u062b\u0627\u0644|\u0909\u0926\u093e\u0939\u0930\u0923",
)
_USES: Final = r"(?:call|calls|output|write|use|emit|run|execute|send|produce|generate|print|invoke|type|issue|submit|include|paste|enter)"
_SPOKEN: Final = (
    (
        r"says?|said|reads|wrote|writes|contains?|contained|containing|states?|stated|quotes?|quoted|returned|shows|showed|shown|"
        r"(?:results?|outputs?) (?:of|from|for)|(?:tool|function|command) (?:results?|outputs?|responses?)|(?:chokes|fails|crashes|breaks|trips) (?:on|at)|"
        r"(?:declined|rejected|blocked|denied|cancell?ed|refused) (?:this|the|that)|emits|replies|responds|answers|produces|generates|outputs|puts? it|has it|recommends|suggests|teaches|"
        r"(?:^|[.:(]\s*|should |must |to )(?:reply|respond|answer) (?:only |just |exactly )?with|^\W{0,4}please (?:run|call|execute|invoke|output)|"
        r"^\W{0,4}(?:explain|fix|review|convert|grade|parse|validate|debug|translate|summari[sz]e|classify|rewrite|reformat) (?:this|these|it|the following)|"
        r"^\W{0,4}(?:save|add|paste|copy|put|insert|append|enter|type|send|submit) (?:this|these|it|the following)|"
        r"prints?|printed|message|logged|reported|received|replied|responded|answered|sent|outputs?|outputted|emitted|generated|produced|"
        rf"(?:asked|told|tells?|asks?|wants?|instructs?|orders?) (?:[\w\-]+ ){{1,3}}to {_USES}|"
        r"^\W{0,4}(?:from|in|inside|per|on) (?:the|this|that|a|an|your|its|their) (?:[\w\-]+ ){0,2}(?:page|document|file|log|logs|email|website|article|docs|documentation|readme|transcript|history|prompt)|"
        r"includes?|mentions?|pasted|was told to|tr(?:y|ies|ied|ying) to|embedded|injected|according to|"
        r"(?:found|appears?|appeared|saw|seen|written|is|was) (?:[\w\-]+ ){0,2}in (?:the|this|that|a|an|your|its|their) (?:[\w\-]+ ){0,2}"
        r"(?:page|document|file|log|logs|email|website|article|comments?|docs|documentation|readme|message|transcript|history|prompt|code)"
    ),
    r"sagt|sagte|schrieb|schreibt|enth\xe4lt|enthielt|lautet|lautete|steht|stand|inhalt|ausgabe|zitat|antwortete|geantwortet|geschrieben|gesagt|ausgegeben|gesendet|gab .{0,30}\baus",
    r"dit|disait|a \xe9crit|contient|contenait|contenu|sortie|citation|a r\xe9pondu|a renvoy\xe9",
    r"dice|dec\xeda|escribi\xf3|contiene|conten\xeda|contenido|salida|cita|respondi\xf3|respuesta del?",
    r"diz|dizia|escreveu|cont\xe9m|continha|conte\xfado|sa\xedda|cita\xe7\xe3o|respondeu|resposta d[oa]",
    r"conteneva|contenuto|risposta (?:del|di)|ha (?:risposto|scritto)|citazione|bevat|bevatte|inhoud|uitvoer|citaat|zegt|antwoordde",
    r"zawiera\w*|zawarto\u015b\u0107|tre\u015b\u0107|odpowiedzia\u0142\w*|cytat|i\xe7eri\u011f\w*|i\xe7eriyor|\xe7\u0131kt\u0131s\u0131|diyor|n\u1ed9i dung|tr\u1ea3 l\u1eddi|berisi|isi (?:file|berkas)|inneh\xe5ll\w*|indeholder|inneholder",
)
_SPOKEN_OTHER: Final = (
    (
        "(?:\u5185\u5bb9|\u8f93\u51fa|\u56de\u590d|\u56de\u7b54|\u539f\u6587)(?:\u5982\u4e0b|\u4e3a|\u662f|[:\uff1a])|\u8fd4\u56de[:\uff1a]|\u8fd4\u56de\u4e86|\u8fd4\u56de\u7684\u662f|\u5f15\u7528|"
        "\u5199\u9053|\u5199\u7740|\u5305\u542b|\u8bf4[:\uff1a]|\u66f8\u304b\u308c|\u3068\u8a00|\u5185\u5bb9|\u51fa\u529b|\u5fdc\u7b54|\u5f15\u7528|\u672c\u6587"
    ),
    "\ub0b4\uc6a9|\ucd9c\ub825|\uc751\ub2f5|\uc778\uc6a9|\u0645\u062d\u062a\u0648\u0649|\u064a\u0642\u0648\u0644|\u0643\u062a\u0628|\u0938\u093e\u092e\u0917\u094d\u0930\u0940",
    r"\u0441\u043e\u0434\u0435\u0440\u0436\u0438\u043c\w*|\u043e\u0442\u0432\u0435\u0442\u0438\u043b\w*|\u0432\u0435\u0440\u043d\u0443\u043b\w*|\u0432\u044b\u0432\u0435\u043b\w*|\u0446\u0438\u0442\u0430\u0442\w*|\u0433\u043e\u0432\u043e\u0440\u0438\u0442|\u0441\u043e\u0434\u0435\u0440\u0436\u0438\u0442|\u043d\u0430\u043f\u0438\u0441\u0430\u043b\w*|\u043d\u0430\u043f\u0438\u0441\u0430\u043d\u043e",
)
_NOUN: Final = re.compile(
    rf"\b(?:{'|'.join(_NOUNS)}|{'|'.join(_SPOKEN)})\b"
    rf"|{'|'.join(_NOUNS_OTHER)}|{'|'.join(_SPOKEN_OTHER)}",
    re.IGNORECASE,
)
"""What shows in a clause that does not say what the model is about to do."""

_NEGATED: Final = (
    (
        rf"(?:never|do not|don['\u2019]t|must not|mustn['\u2019]t|should not|shouldn['\u2019]t|cannot|can['\u2019]t|may not|won['\u2019]t|"
        rf"will not|not to|not|no longer)[ \t]+{_WORD}{{0,2}}{_USES}(?:ing|ting|ning)?|(?:avoid|refrain from|refus\w+ to|declin\w+ to|ignor\w+|stop|instead of|rather than|"
        rf"forbidden|prohibited|not allowed|decided (?:against|not to)|thought about|considered|was (?:about|going) to|almost|nearly|(?:there is |there's )?no need)"
    ),
    (
        r"niemals|(?:rufe?|gib|schreib|nutze?|verwende|sende|f\xfchre?)\b[^.,;:\n]{0,40}\b(?:nicht|nie)\b|nicht "
        r"(?:aufrufen|ausgeben|schreiben|verwenden|ausf\xfchren|senden)"
    ),
    r"ne\b[^.,;:\n]{0,40}\b(?:jamais|pas)|jamais|\xe9vite[rz]?",
    r"nunca|jam\xe1s|no (?:llame[ns]?|llames|escriba[ns]?|escribas|use[ns]?|ejecute[ns]?|env\xed[ea][ns]?|emita)|evite|evita",
    r"n\xe3o (?:chame|escreva|use|execute|envie|emita)|jamais|non (?:chiamare|usare|scrivere)|mai",
)
_NEGATED_OTHER: Final = (
    "\u4e0d\u8981|\u5207\u52ff|\u8bf7\u52ff|\u7981\u6b62|\u4e0d\u5f97|\u4e0d\u80fd\u8c03\u7528|\u5343\u4e07\u522b",
    "\u3057\u306a\u3044\u3067|\u306a\u3044\u3067\u304f\u3060\u3055\u3044|\u6c7a\u3057\u3066|\u3057\u3066\u306f\u3044\u3051\u306a",
    r"\u043d\u0438\u043a\u043e\u0433\u0434\u0430|\u043d\u0435 (?:\u0432\u044b\u0437\u044b\u0432\u0430\w*|\u0432\u044b\u0432\u043e\u0434\u0438\w*|\u043f\u0438\u0448\u0438\w*|\u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\w*|\u043e\u0442\u043f\u0440\u0430\u0432\u043b\u044f\w*)",
)
_LIGHTLY: Final = r"(?:also |then |just |simply |have |be )?"
_OTHERS_DO: Final = (
    rf"(?:(?:we|i)[ \t]+(?:could|would|might)|(?:we|i)['\u2019]d)[ \t]+{_LIGHTLY}{_USES}(?:ed|d|ing)?"
    rf"|(?!(?:i|we|and|then|so)[ \t])[\w\-]{{1,24}}[ \t]+(?:can|could|would|should|may|might|must|have to|had to|need to|ought to)"
    rf"[ \t]+{_LIGHTLY}{_USES}(?:ed|d|ing)?\b"
    rf"|to (?:call|use|invoke) (?:one|a|an|it|them|the|this|tools?)\b[^.,;:\n]{{0,40}}[ \t]{_USES}\b"
    rf"|to (?:search|look|use it|call it|find|get|do|read|make|invoke|test|try)\b[^.,;:\n]{{0,60}},[ \t]*(?:just |simply |please )?{_USES}\b"
    rf"|(?:would|could|might) (?:be|{_USES}|have)\b|if (?:you|i|we|one|it)\b|w\xfcrde|w\xe4ren?|k\xf6nnte|serait|pourrait|ser\xeda|podr\xeda|seria|poderia"
)
_HINDERED: Final = re.compile(
    rf"\b(?:{'|'.join(_NEGATED)}|{_OTHERS_DO})\b|{'|'.join(_NEGATED_OTHER)}", re.IGNORECASE
)
"""What forbids a call, or leaves it to others or to another day."""

_INTENDS: Final = re.compile(
    r"\b(?:i['\u2019]ll|i will|i['\u2019]m going to|i am going to|let me(?! know\b)|let['\u2019]s|let us|i need to|i must|i should|i have to|i want to|"
    r"i(?:['\u2019]d| would) like to|i(?:['\u2019]m| am) (?:calling|using|running|checking|searching|looking|reading)|(?:next|now|first|then)(?=[,:]|[ \t]+(?:i|let|we|to|the)\b|\W*\Z)|so (?:i|let|here|another)|"
    r"here (?:is|are) (?:the|a|an|my|your|two|three)(?: (?!how\b)[\w\-]+){0,3} (?:calls?|request|(?:corrected|right|fixed|proper|new|next) one))\b"
    r"|^\W{0,4}(?!(?:warning|nothing|according|including|regarding|something|anything|everything|thing|pending|remaining|missing|following|existing|failing|outstanding)\b)[a-z]{2,20}ing\b"
    r"|here (?:goes|you go|it (?:is|goes))|here['\u2019]?s? (?:is )?(?:the|my) json\W*\Z|\bi (?:require|believe|think)|happy to"
    r"|^\W{0,4}(?:calling|searching|looking|checking|using|fetching|getting|reading|running|retrieving|querying|invoking|executing|making|trying|"
    r"opening|updating|creating|writing|sure|okay|ok|alright|certainly|of course|yes|yep|great|right|got it|understood|one (?:moment|second)|hold on|perfect|fine|hmm|well)\b"
    r"|\b(?:ich (?:werde|rufe|suche|pr\xfcfe|schaue|lese)|lass mich|je vais|j['\u2019]appelle|voy a|vamos a|d\xe9jame|d\xe9jeme|"
    r"vou|deixe-me|\u044f|\u0434\u0430\u0432\u0430\u0439\u0442\u0435)\b"
    "|\u6211(?:\u6765|\u5c06|\u4f1a|\u8981|\u5148|\u9700\u8981)|\u8ba9\u6211|\u3057\u307e\u3059|\u3057\u307e\u3057\u3087\u3046",
    re.IGNORECASE,
)
_EXPLAINS: Final = re.compile(
    r"\b(?:show|give|illustrate|demonstrate|explain|describe|provide|present|quote|repeat|copy|paste|list|document|teach|imagine|"
    r"zeige|erkl\xe4re|montrer|expliquer|mostrar|explicar|\u043f\u043e\u043a\u0430\u0436\u0443)\b|\u793a|\u6f14|\u4e3e|\u7ed9\u51fa|\u89e3\u91ca|\u8aac\u660e",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.B)[.!?\u2026](?=\s)|[\u3002\uff01\uff1f]|\n[ \t\r]*\n"
)
_SENTENCE: Final = re.compile(r"\s*[^.!?\u3002\uff1f\n]*[.!?\u3002\uff1f]?")
_EMPHASIS: Final = re.compile(r"(?<!\w)[_*]+|[_*]+(?!\w)")
_ALONE: Final = re.compile(rf"\W*(?:{'|'.join(_NOUNS)})\W*", re.IGNORECASE)
_PLAIN_ENGLISH: Final = re.compile(r"[\x00-\x7f\u2019]*")
_WORDS_OF_OTHERS: Final = re.compile(
    r"\b(?:der|die|das|ich|und|el|la|los|las|le|les|de|des|du|que|je|yo|eu|un|una|une|uma|het|een|ik|il|lo|per|za|og|att|jeg|jag|se|si|ja|na|"
    r"bir|ve|ini|saya|para|pour|voor|com|con|avec|mit|nu|nun|ora|ahora|agora|maintenant|jetzt|en|et|y|e|o|os|as|su|mi|ne)\b",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(
    r"\b(?:calls?|calling|tools?|functions?|search\w*|look(?:ing|ups?)?|check(?:ing)?|fetch\w*|retriev\w+|quer(?:y|ying)|request|try|trying|"
    r"retry\w*|steps?|next|needs?|needed|use|using|actions?|find(?:ing)?|get(?:ting)?|please|go(?:ing)?|start\w*|run(?:ning)?|plan|thoughts?|again)\b",
    re.IGNORECASE,
)
_PAST: Final = re.compile(
    r"\b(?:(?<!is )(?<!are )called|used to|attempted|blocked|denied|rejected|declined|refused|skipped|stopped|hallucinated|invoked|executed|was|were|did|had|earlier|previously|yesterday)\b",
    re.IGNORECASE,
)
_OWN_LABEL: Final = re.compile(
    r"(?:(?:my|the|a|next|first|second|third|final|new|correct(?:ed)?|actual)[ \t]+){0,2}(?:(?:tool|function)[ _\-]?(?:calls?|use|invocation)|calls?|actions?|invocation)[ \t]*:?|"
    r"(?:assistant|answer|response|json|next(?: step)?|now|so|then|ok|okay|first|second|step[ \t]\d{1,3})[ \t]*[:,]?",
    re.IGNORECASE,
)
"""Titles of the model's own calls."""

_CALLS: Final = re.compile(
    r"\b(?:i|we)[ \t]+(?:(?:now|first|then|also|just) )?(?:need|should|must|shall|want|plan|can|am|are|have to|call|use|write|save|create|run|"
    r"send|read|search|look|check|fetch|get|update|delete|add|set|open|list|start|try|do|make|go)\b"
    r"|\bhere['\u2019]s (?:the|a|an|my|your) (?:[\w\-]+ ){0,3}(?:calls?|request)\b|^\W{0,4}(?:step \d{1,3}|then|first|next|now)\b"
    r"|\b(?:is|are|will be|gets?|being|needs? to be|should be|must be)[ \t]+(?:now |first |then )?(?:called|used|needed|required|made|written|saved|created|sent|run|searched|"
    r"executed|updated|deleted|fetched|read)\b"
    r"|^\W*\w{3,}(?:\u0119|am|em|ando|endo|indo)\b"
    r"|^\W*(?!ecco|quest|quell|quanto|como|cuando|quando|dopo|dentro|segundo)\w{3,}o (?:el|la|los|las|il|lo|un|una|i|gli|le|o|a|os|as)\b"
    "|\u8c03\u7528|\u67e5\u8be2|\u641c\u7d22|(?:\u307e\u3059|\u307e\u3057\u3087\u3046)[\u3002\uff1a:\\s]*\\Z|\ud569\ub2c8\ub2e4",
    re.IGNORECASE,
)
"""How it is said that a call follows without saying who makes it; weaker than a word that quotes."""

_FIRST_PERSON: Final = re.compile(
    r"\b(?:(?:ich|wir)[ \t]+(?!hab|hatte|war|fand|sah|las|erhielt|bekam)\w+|lass(?:en)? (?:uns|mich|sie)|zuerst|jetzt|nun)\b"
    r"|\b(?:je|on|nous)[ \t]+(?!ai\b|a\b|avons\b|suis\b)\w+|\bj['\u2019](?:appelle|utilise|\xe9cris|ex\xe9cute|enregistre|envoie|essaie|ouvre|ajoute)|\blaisse(?:z)?-moi\b"
    r"|\b(?:voy|vamos|d\xe9ja(?:me|nos)|d\xe9jeme|perm\xedt\w+|necesito|debo|procedo|usar\xe9|ahora|primero|estoy|vou|deixe-me|preciso|devo|agora|primeiro|"
    r"estou|ora|adesso|sto|lasciami|cerco|scrivo|leggo|uso|\w{3,}r(?:\xe9|ei|\xf2|emos))\b"
    r"|\bik[ \t]+(?!heb|had|was|vond|zag)\w+|\blaat me\b|\bnu\b|\b(?:jag|jeg)[ \t]+\w+r\b|\bteraz\b"
    r"|\w{2,}(?:yorum|yoruz|aca\u011f\u0131m|ece\u011fim)\b|\bt\xf4i (?:s\u1ebd|c\u1ea7n|\u0111ang)|\bsaya (?:akan|perlu)\b"
    r"|\b(?:\u0441\u0435\u0439\u0447\u0430\u0441|\u0442\u0435\u043f\u0435\u0440\u044c|\u0441\u043d\u0430\u0447\u0430\u043b\u0430)\b|^\W*(?:\w{2,}\u044e|\w{4,}\u0443)\b"
    "|\u6211(?!\u770b\u5230|\u5728|\u53d1\u73b0|\u627e\u5230)|\u8ba9\u6211|\u597d\u7684|\u73b0\u5728|\u6b63\u5728|\u9996\u5148|\u63a5\u4e0b\u6765"
    "|(?:\ud558\uaca0|\ud560\uac8c)|(?:^|\\s)\u0633\u0623|\u092e\u0948\u0902",
    re.IGNORECASE,
)
"""Who speaks of what it does itself, in the languages models answer in beside English."""
_LABEL: Final = re.compile(
    r"(?:^|\n)[\W\d_]{0,8}(?:wrong|right|do|don['\u2019]?t|broken|either|or|[a-d]|correct|incorrect|bad|good|valid|invalid|before|after|expected|actual|(?:\w+ )?(?:input|output|body|results?)|usage|test|dry[- ]?run|drafts?|proposals?|proposed(?: \w+)?|vorschlag|entwurf|brouillon|borrador|(?:\w+ ){0,2}logs?|explain|translat(?:e|ion|ed)|formatted|minified|std(?:out|err)|histor(?:y|ies)|predictions?|golden|hypothesis|(?:rejected|denied|declined|blocked|skipped|queued|executed|completed|cancell?ed|pending)(?: calls?)?|pretty-?printed|verbatim|excerpt|contents?|transcript|fyi|n\.?b\.?|p\.?s\.?|tl;?dr|"
    r"(?:listing|figure|fig\.?|table|exhibit|exercise|question|quiz|problem)[ \t]*(?:\d[\d.]*)?|summari[sz]e|paraphrase|debug|note|warning|caution|falsch|richtig|"
    r"incorrecto|incorreto|faux|\u9519\u8bef|\u6b63\u786e|\u274c|\u2705|\u2717|\u2713)[^\w.!?]{0,8}\Z",
    re.IGNORECASE,
)
_SAYS_SO: Final = re.compile(
    r"\b(?:follows?|below)[.!]?\Z|\b(?:below|above|here|this|following)\b[^.]{0,20}\b(?:is|are|was|were|comes|has|contains)\b[^.]{0,60}\b"
    r"(?:completions?|logs?|excerpts?|dumps?|outputs?|transcripts?|snippets?|docs|documentation|repl(?:y|ies)|page|paste)\b",
    re.IGNORECASE,
)
"""Sentences that say that what follows is somebody's."""

_QUESTION: Final = re.compile(
    r"^(?:\W|\w+[:.])*[ \t]*(?:is|are|was|would|does|do|did|can|could|should|will|what|which|why|how)\b[^?]{0,60}\b(?:this|these|that|the following)"
    r"(?:[ \t]+(?:do|mean|call|calls|work|works|valid|right|correct|ok|okay|fine|safe|look|allowed|legal|well-formed|a|an))*[ \t]*\?",
    re.IGNORECASE,
)
"""What asks about the call instead of making it."""

_DOES: Final = (
    r"(?:go ahead|proceed|continue|run|execute|call|make|do|send|delete|write|apply|start|perform)"
)
_ASKS_LEAVE: Final = re.compile(
    rf"\b(?:(?:shall|should|may|can|could) (?:i|we) (?:now |just )?{_DOES}\b[^?\n]{{0,80}}\?"
    rf"|do you (?:want|agree|allow|approve)\b[^?\n]{{0,20}}\b{_DOES}\b[^?\n]{{0,80}}\?|would you like (?:me|us) to {_DOES} (?:this|that|it|so)\b"
    r"|(?:is|are) (?:this|that|these) (?:ok|okay|fine|alright|acceptable)\b|please (?:first )?(?:confirm|approve|authori[sz]e)|approve\?"
    r"|(?:your|user['\u2019]?s?|await(?:s|ing)?|wait(?:ing)? for|ask(?:ing)? for|pending|without) (?:your |explicit )?(?:approval|confirmation|permission|consent|go-ahead|okay|ok|decision)(?! (?:was|given|granted|has been|is given)\b)"
    r"|(?:reply|answer|type|say|respond)(?: with)? [\"'\u201c\u2018*]{0,2}(?:yes|ok|okay|go|y|approve|confirm)\b"
    r"|(?:wenn|falls|sobald) (?:du|sie|ihr) [^,.\n]{0,20}(?:zustimm|einverstanden|best\xe4tig)\w*|(?:ist|w\xe4re) das (?:in ordnung|ok(?:ay)?|recht)"
    r"|si vous (?:\xeates d['\u2019]accord|confirmez|acceptez)|(?:je peux|puis-je|dois-je) (?:continuer|proc\xe9der|ex\xe9cuter)|si (?:est\xe1s?|est\xe1n) de acuerdo|si (?:confirmas?|aceptas?)"
    r"|(?:procedo|contin\xfao|ejecuto|prossigo|posso prosseguir)\s?\?|se (?:voc\xea |voce )?(?:concordar|confirmar|aceitar)|se (?:sei|siete) d['\u2019]accordo"
    r"|(?:if|in case|once|when|after|as soon as|until|unless) (?:you|the user|they) (?:say|agree|confirm|approve|allow|accept|consent)s?"
    r"|let me know (?:if|when|whether) (?:i should|(?:this|that) is)"
    r"|(?:soll(?:en)? (?:ich|wir)|darf ich|m\xf6chtest du|m\xf6chten sie|willst du|wollen sie)\b[^?\n]{0,80}\?|bitte (?:zuerst )?best\xe4tig\w+|(?:ihre|deine|ihrer|deiner) (?:freigabe|zustimmung|best\xe4tigung)"
    r"|(?:(?:voulez|souhaitez)-vous|veux-tu|souhaites-tu|dois-je|puis-je)\b[^?\n]{0,80}\?|confirmez|(?:votre|ton) accord"
    r"|(?:quieren?|quieres|desean?|deseas|debo|puedo|quer|deseja|devo|posso|vuoi|vuole)\b[^?\n]{0,80}\?|(?:por favor|primero|primeiro),? confirm\w+|(?:su|tu|sua) confirma(?:ci\xf3n|\xe7\xe3o))"
    "|(?:\u662f\u5426|\u8981\u4e0d\u8981|\u53ef\u4ee5|\u9700\u8981\u6211|\u8981\u6211)(?:\u8981|\u9700\u8981|\u6267\u884c|\u7ee7\u7eed|\u540c\u610f|\u5417|\u8fd9\u6837)[^\u3002\\n]{0,40}[?\uff1f]|\u8bf7(?:\u5148)?\u786e\u8ba4|\u786e\u8ba4\u540e"
    "|(?:\u5982\u679c|\u82e5)[\u60a8\u4f60](?:\u540c\u610f|\u786e\u8ba4)|[\u60a8\u4f60]\u540c\u610f\u540e|\u3088\u308d\u3057\u3051\u308c\u3070"
    r"|\b\u0435\u0441\u043b\u0438 (?:\u0432\u044b|\u0442\u044b) (?:\u0441\u043e\u0433\u043b\u0430\u0441\w+|\u043f\u043e\u0434\u0442\u0432\u0435\u0440\u0434\w+)|\u043c\u043e\u0436\u043d\u043e \u0432\u044b\u043f\u043e\u043b\u043d\u0438\u0442\u044c"
    "|(?:\u3088\u308d\u3057\u3044|\u3044\u3044|\u3088\u3044)\u3067(?:\u3059|\u3057\u3087\u3046)\u304b|\u307e\u3057\u3087\u3046\u304b|\u78ba\u8a8d\u3057\u3066\u304f\u3060|\u8a31\u53ef\u3092"
    r"|\b(?:\u0432\u044b\u043f\u043e\u043b\u043d\u0438\u0442\u044c|\u0437\u0430\u043f\u0443\u0441\u0442\u0438\u0442\u044c|\u043c\u043d\u0435|\u0445\u043e\u0442\u0438\u0442\u0435|\u0445\u043e\u0447\u0435\u0448\u044c)\b[^?\n]{0,60}\?|\u043f\u043e\u0434\u0442\u0432\u0435\u0440\u0434\u0438(?:\u0442\u0435)?\b",
    re.IGNORECASE,
)
"""Who asks whether to call, or waits for leave, has not called yet."""

_OTHERS_SPEAK: Final = re.compile(
    r"^\W{0,4}(?:(?:first|then|next|so|here|now|when|if|and|also|finally),?[ \t]+)?"
    r"(?:(?:the|a|an|your|this|that|each|another|every|one|our)[ \t]+(?:[\w\-]+[ \t]+){0,2}(?:models?|llms?|assistants?|agents?|bots?|parsers?|harness)[ \t]+"
    r"(?!(?:to|for|of|in|is|with|and|needs?|should|must|wants?|i|we|will now)\b)[\w'\u2019\-]+"
    r"|(?:das modell|der assistent|le mod\xe8le|l['\u2019]assistant|el modelo|el asistente|o modelo|o assistente|il modello|l['\u2019]assistente|het model)\b)"
    "|^\\W{0,4}(?:\u6a21\u578b|\u52a9\u624b)(?:\u4f1a|\u5c06|\u8f93\u51fa|\u8fd4\u56de|\u5199)|(?:\u30e2\u30c7\u30eb|\u30a2\u30b7\u30b9\u30bf\u30f3\u30c8|\u30a8\u30fc\u30b8\u30a7\u30f3\u30c8)\u306f"
    r"|\b(?:\u043c\u043e\u0434\u0435\u043b\u044c|\u0430\u0441\u0441\u0438\u0441\u0442\u0435\u043d\u0442)[ \t]+\w+|\b(?:\u0432\u044b\u0432\u043e\u0434|\u043e\u0442\u0432\u0435\u0442) \u043c\u043e\u0434\u0435\u043b\u0438\b",
    re.IGNORECASE,
)
"""Clauses about what a model does: none calls itself so when it calls."""

_SUSPECTS: Final = re.compile(
    r"\b(?:injections?|injected|malicious|phishing|jailbreak\w*)\b", re.IGNORECASE
)

_POINTING: Final = re.compile(
    r"\b(?:here|this|that|these|those|following|below|above|what follows|hier|folgend\w*|voici|ceci|aqu\xed|aqui|este|esto|isto)\b|\u4ee5\u4e0b|\u4e0b\u9762|\u6b21\u306e|\u3053\u308c|\u8fd9",
    re.IGNORECASE,
)

_VERBS: Final = (
    r"is|was|are|were|isn['\u2019]t|would|will|could|can|should|might|may|must|means|meant|does|did|has|had|returns?|returned|looks?|"
    r"calls|called|searches|runs|shows|represents|specif(?:ies|y)|contains?|appears?|appeared|works?|fails?|failed|becomes?|"
    r"ist|w\xe4re|w\xfcrde|bedeutet|est|serait|sera|signifie|es|ser\xeda|significa|\xe9|seria|tells|asks|and then you|in the|from the|to (?:call|search|look|use)|"
    r"as an?|vs\b|versus|instead of|rather than|whereas|and (?:the|its|that|this) [a-z]+ [a-z]+|etc|and so on|if you|when you|for (?:example|instance)|or|oder|ou|o(?= ?[<{\[])"
)
_AFTER: Final = re.compile(
    rf"[ \t]*[\"'`*_)\],]{{0,4}}[ \t]*(?:(?:{_VERBS})\b|\u2190|\u2014?\s?\u044d\u0442\u043e\b|\u662f|\u8fd9\u662f|\u7684|\u3068\u3044\u3046|\u306f|\u3067\u3059|\u304c|\u3092|\u0438\u043b\u0438\b|\u6216)"
)
_OR: Final = r"(?:or|oder|ou|o|oppure|of|lub|\u0438\u043b\u0438|\u6216\u8005|\u6216|\u307e\u305f\u306f|versus|vs\.?|\||/)"
CONNECTS: Final = re.compile(
    rf"\W{{0,8}}(?:{_OR}|and|und|et|y|e|\u0438|\u548c|\u3068)?\W{{0,8}}", re.IGNORECASE
)
_COMMENTS: Final = re.compile(
    r"[\s\"'`*_(\[#/.,^\u2014\u2013\-]{0,12}"
    r"(?:(?:this|that|these|those|it|which|the above|above|dies|das|ceci|c['\u2019]est|esto|eso|isto|isso|\u044d\u0442\u043e)\b[ \t]*"
    r"(?:is|was|are|were|would be|['\u2019]s|shows?|illustrates?|demonstrates?|represents?|looks?|ist|w\xe4re|est|es|\xe9|\u2014)?\b"
    r"[^.\n]{0,60}?\b(?:examples?|format|syntax|template|sample|schema|illustration|demonstration|placeholder|hypothetical|pseudo-?code|"
    r"how (?:you|one|to|it|a|the|i would|they|tools?|models?)|what (?:you|one|it|the|a|they|i would)|(?:way|form|shape) (?:you|to|of|in)|"
    r"beispiel\w*|exemple|ejemplo|exemplo|formato|\u043f\u0440\u0438\u043c\u0435\u0440\w*)"
    r"|(?:only |just )?(?:an? |as an? )?(?:example|sample|e\.g\.|placeholder|template|beispiel|exemple|ejemplo|exemplo|\u043f\u0440\u0438\u043c\u0435\u0440)\b"
    r"|(?:but |and |please )?(?:do not|don['\u2019]t|never|must not|not)[ \t]+(?:actually |really |ever )?(?:run|execute|call|do|use|send|output|copy|a real|real)\b"
    r"|(?:i|we)[ \t]+(?:did not|didn['\u2019]t|will not|won['\u2019]t|cannot|can['\u2019]t|would not|refuse to|have not)[ \t]+(?:\w+[ \t]+)?(?:call|run|execute|do|send|output|obey|follow)\b"
    r"|[^.\n]{0,40}?\b(?:not|never) (?:yet )?(?:been )?(?:executed|sent|run|applied)\b"
    r"|(?:replace|substitute|fill in|where|with your own|feel free to (?:adapt|adjust|change|modify|replace|copy|use)|you (?:can|may) (?:adapt|adjust|modify|replace|copy|paste)|instead of|rather than|whereas|and nothing else)\b"
    "|\u8fd9(?:\u53ea)?\u662f[^\u3002\n]{0,20}(?:\u793a\u4f8b|\u4f8b\u5b50|\u683c\u5f0f)|\u3053\u308c\u306f[^\u3002\n]{0,20}(?:\u4f8b|\u5f62\u5f0f|\u30b5\u30f3\u30d7\u30eb))",
    re.IGNORECASE,
)

_PAST_OF_MINE: Final = re.compile(
    r"\b(?:(?:i|we)(?:['\u2019]ve| have)?[ \t]+(?!need\b)(?:\w+ed|wrote|written|did|done|made|sent|drew|built)|ich habe|j['\u2019]ai|he|eu)\b",
    re.IGNORECASE,
)
_OF_MINE: Final = re.compile(
    r"\b(?:i|we)[ \t]+(?!(?:cannot|can['\u2019]t|could|would|do not|don['\u2019]t)\b)\w+",
    re.IGNORECASE,
)
"""What was done is handed over; what is done now is a call."""

_HANDS_OVER: Final = re.compile(
    r"\b(?:here(?:['\u2019]s| is| are|['\u2019]re)|below|you (?:asked|wanted|requested|need)|requested|generated|converted|translated|created|"
    r"the (?:following|result|output|code|markup|document)|hier ist|hier sind|voici|aqu\xed (?:est\xe1|tienes)|aqui est\xe1|ecco)\b|\u8fd9\u662f|\u4ee5\u4e0b",
    re.IGNORECASE,
)
_A_CALL: Final = re.compile(
    r"\b(?:calls?|tools?|requests?|functions?|next|now|aufruf|appel|llamada|chamada)\b|\u8c03\u7528",
    re.IGNORECASE,
)
_DESCRIBES: Final = re.compile(
    r"\b(?:tools?|functions?|(?:tool |function )?(?:calls?|use)|parameters?)\b[^.\n]{0,80}\b(?:(?:are|is) (?:called|written|invoked|formatted|enclosed|wrapped|expressed|made)|xml|tags?|elements?)\b"
    r"|\b(?:werkzeuge?|outils?|herramientas?|ferramentas?|strumenti)\b[^.\n]{0,80}\b(?:xml|tags?|elemente?|balises?|etiquetas?|elementos?|elementi)\b"
    "|\u5de5\u5177[^\u3002\\n]{0,40}\u6807\u7b7e|\u30c4\u30fc\u30eb[^\u3002\\n]{0,40}\u30bf\u30b0"
    r"|\u0438\u043d\u0441\u0442\u0440\u0443\u043c\u0435\u043d\u0442\w*\b[^.\n]{0,60}\u0442\u0435\u0433",
    re.IGNORECASE,
)
"""Sentences that tell how tools are called in general."""

_TELLS: Final = re.compile(
    r"[^.\n]{0,120}?\b(?:examples?|formats?|syntax|above|below|xml|html|markup|tags?|elements?|parameters?|placeholders?|snippets?|"
    r"how|would|is (?:a|an|the|one|called)|beispiel|exemple|ejemplo|exemplo)\b",
    re.IGNORECASE,
)
"""What is said of a document and not of a call: for elements that may be either."""

_PLACEHOLDER: Final = re.compile(
    r"(?P<dots>\.{3,}|\u2026|x{3,8}|X{3,8})|<<?(?P<tag>[A-Za-z][\w \-./|]{0,60})>>?|\{{1,3}(?P<brace>[A-Za-z_][\w \-.]{0,60})\}{1,3}"
    r"|\$\{(?P<shell>[A-Za-z_]\w{0,60})\}|\[(?P<bracket>[A-Za-z][\w \-]{1,60})\]|(?P<plain>[A-Za-z_][\w \-]{1,60})"
)
_SLOTS: Final = frozenset(
    {"query", "city", "name", "path", "file", "filename", "text", "value", "url", "id", "date", "term", "topic", "keyword", "keywords"}
    | {"location", "number", "arg", "argument", "param", "parameter", "placeholder", "search", "user", "username", "email", "string"}
    | {"here", "insert", "something", "country", "language", "question", "subject", "tool", "function", "place", "integer"}
)  # fmt: skip
"""Words of which one stands in a placeholder. Brackets alone make none: `<stdio.h>`, `[a-z]` and `{x}` are values."""

MAX_PLACEHOLDER_CHARS: Final = 80
"""Characters of a value that may be a placeholder."""


def is_introduced(before: str) -> bool:
    """Whether the words before a call tell that it is shown.

    Args:
        before: some text that ends at the call.
    """
    if _ALWAYS.search(before[-CLAUSE_CHARS:]) or _LABEL.search(before[-CLAUSE_CHARS:]):
        return True
    clause, is_ended = _last_clause(before)
    if not clause:
        return False
    if _ASKS_LEAVE.search(clause) or (not is_ended and _OTHERS_SPEAK.search(clause)):
        return True
    if is_ended and _SUSPECTS.search(clause):
        return not _INTENDS.search(clause)
    if is_ended and _QUESTION.search(clause):
        return not _INTENDS.search(clause)
    if is_ended and _SAYS_SO.search(clause):
        return not _INTENDS.search(clause)
    if is_ended:  # a sentence of its own
        return _ALONE.fullmatch(clause) is not None or bool(
            _POINTING.search(clause) and _is_noun(clause)
        )
    if _leads_up(before) and _is_statement(clause):
        return True
    if (found := _last(_HINDERED, clause)) and not _INTENDS.search(clause, found.end()):
        return _is_near(clause, found)
    return _is_noun(clause)


def is_explained(after: str) -> bool:
    """Whether the words behind a call tell that it is shown.

    Args:
        after: some text that begins at the end of the call.
    """
    after = after[:CLAUSE_CHARS]
    if after.lstrip()[:1] in {"?", "\uff1f"}:
        return True
    if _AFTER.match(after) or _COMMENTS.match(after):
        return True
    rest = after.lstrip()  # on a line of its own a small letter goes on with the sentence before
    if "a" <= rest[:1] <= "z" and _AFTER.match(rest):
        return True
    sentence = _SENTENCE.match(after)
    return sentence is not None and _ASKS_LEAVE.search(sentence[0]) is not None


def is_clause_around(before: str, after: str) -> bool:
    """Whether one sentence goes on from before a call to behind it, on lines of its own too.

    In any script that knows small letters: what comes before has no end, and what follows begins with one.

    Args:
        before: some text that ends at the call.
        after: some text that begins at the end of the call.
    """
    begun, rest = before.rstrip(), after.lstrip()
    return rest[:1].islower() and (begun[-1:].isalnum() or begun[-1:] == ",")


def is_intended(before: str) -> bool:
    """Whether the clause before a call says that the model is about to call.

    Args:
        before: some text that ends at the call.
    """
    clause, _ = _last_clause(before)
    return _INTENDS.search(clause) is not None and not _EXPLAINS.search(clause)


def is_own_lead(before: str) -> bool:
    """Whether the words before a call make it the model's own, and not what they are about.

    Nobody can list all words that announce a quotation, in every language. So this asks the other way round:
    a sentence that ended announces nothing; one that leads up to the call has to say that a call follows, and
    a line without an end (a title, a file's name, a prompt of a shell) or a question says nothing of the kind.

    Args:
        before: all of the text that stands before the call, up to the call.
    """
    text = before.rstrip("\"'`*_ \t\r\n")
    if not text or text[-1] in ".!\u2026\u3002\uff01>":
        return True
    clause, _ = _last_clause(before)
    clause = clause.rsplit("\n", 1)[-1]
    if not re.search(r"\w", clause) or _OWN_LABEL.fullmatch(clause.strip(" \t#*_>-")):
        return True
    if text[-1] in "?\uff1f" or _EXPLAINS.search(clause):
        return False
    own = _INTENDS.search(clause) or _FIRST_PERSON.search(clause) or _CALLS.search(clause)
    return own is not None


def is_announced(before: str) -> bool:
    """Whether the last clause before a call, a sentence that ended too, says that something is done now.

    Args:
        before: all of the text that stands before the call; when that is blank, nothing has to be said.
    """
    if not before.strip():
        return True
    clause, _ = _last_clause(before)
    if _EXPLAINS.search(clause) or _PAST_OF_MINE.search(clause):
        return False
    said = (_INTENDS, _FIRST_PERSON, _CALLS, _ASKS, _OF_MINE)
    return any(pattern.search(clause) for pattern in said) or not re.search(r"\w", clause)


def is_presented(before: str, after: str) -> bool:
    """Whether the sentences around what any document may hold hand it over, or tell of it.

    Args:
        before: some text that ends at it.
        after: some text that begins at its end.
    """
    clause, _ = _last_clause(before)
    if _HANDS_OVER.search(clause) and not _A_CALL.search(clause):
        return True
    if _DESCRIBES.search(clause) or (_PAST_OF_MINE.search(clause) and _POINTING.search(clause)):
        return not _INTENDS.search(clause)
    return _TELLS.match(after.lstrip()) is not None


def is_template(arguments: Mapping[str, object], *, alone: bool) -> bool:
    """Whether arguments are still to be filled in.

    Args:
        arguments: the arguments of a call.
        alone: nothing stands beside the call: then all of its texts have to be placeholders. Among prose one
            that names its own parameter (`"city": "<city>"`), or says "your", is enough.
    """
    found = [
        _placeholder(key, one)
        for key, value in arguments.items()
        for one in (cast("list[object]", value) if isinstance(value, list) else [value])
        if isinstance(one, str)
    ]
    return bool(found) and (all(found) or ("own" in found and not alone))


def _placeholder(key: str, value: str) -> Literal["", "any", "own"]:
    if len(value) > MAX_PLACEHOLDER_CHARS or not (found := _PLACEHOLDER.fullmatch(value.strip())):
        return ""
    if found["dots"]:
        return "any"
    inside = next(part for part in found.groups() if part)
    words = re.findall(r"[a-z]+", inside.lower())
    if words[:1] in (["your"], ["insert"], ["enter"]) and len(words) > 1:
        return "own" if not found["plain"] or "_" in inside or words[-1] == "here" else ""
    if found["plain"]:
        slot = words == ["placeholder"] or (words[-1:] == ["here"] and _SLOTS & {*words[:-1]})
        return "any" if slot else ""
    if set(key.lower().split("_")) & set(words):
        return "own"
    return "any" if _SLOTS & set(words) else ""


def _last_clause(before: str) -> tuple[str, bool]:
    """The clause that ends at the call, and whether it is a sentence that ended."""
    text = _EMPHASIS.sub(" ", before[-CLAUSE_CHARS:]).rstrip().rstrip("\"'` ")
    is_ended = text[-1:] in {".", "!", "?", "\u3002", "\uff01", "\uff1f", "\u2026"}
    ends = [match.end() for match in _CLAUSE_END.finditer(text, 0, max(0, len(text) - 1))]
    return text[ends[-1] if ends else 0 :].strip(), is_ended


def _leads_up(before: str) -> bool:
    """Whether the call ends the sentence before it: behind a colon, or on its line."""
    text = before.rstrip("\"'`*_ \t\r\n")
    return text.endswith((":", "\uff1a")) or "\n" not in before[len(text) :]


def _is_statement(clause: str) -> bool:
    """Whether a clause that leads up to the call says something in English, but not that a call is made."""
    if _INTENDS.search(clause) or _CALLS.search(clause) or len(clause.split()) < 2:
        return False
    if not _PLAIN_ENGLISH.fullmatch(clause) or _WORDS_OF_OTHERS.search(clause):
        return False
    return _ASKS.search(clause) is None or _PAST.search(clause) is not None


def _is_noun(clause: str) -> bool:
    if not _NOUN.search(clause):
        return False
    own = _INTENDS.search(clause) or _FIRST_PERSON.search(clause)
    return own is None or _EXPLAINS.search(clause) is not None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed([*pattern.finditer(text)]), None)


def _is_near(clause: str, found: re.Match[str]) -> bool:
    """Whether nothing new is said between a word and the call."""
    rest = clause[found.end() :]
    return len(rest) <= 80 and not re.search(
        r"[,;]|\b(?:so|but|because|therefore|unless|without)\b", rest
    )
