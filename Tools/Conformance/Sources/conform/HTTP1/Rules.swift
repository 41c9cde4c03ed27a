/// Why we refuse what some source accepts: a sentence for each rule, by the name of the error that reports it.
enum Rules {
    static let sentences: [String: String] = [
        "invalidTarget": """
        RFC 9112 §3.2: a target has one of four forms, * is for OPTIONS, host:port for CONNECT; RFC 3986: no \
        byte above 0x7F (flags nonASCIITarget, anyTargetForm)
        """,
        "noURL": """
        RFC 3986: what has characters or shapes that no URL has is refused, where WHATWG mends it; a host name whose last \
        label is a number is no address and no name
        """,
        "malformedChallenge":
            "RFC 9110 §11: a challenge that breaks the grammar is dropped with what follows in its line",
        "unsupportedChallenge": "RFC 7616 §3.3: a challenge with an unknown algorithm or qop is ignored",
        "ntlmVersion1": "NTLMv1 and LM are refused: their responses give the password away (there is no code for them)",
        "ntlmWithoutExtendedSecurity":
            "MS-NLMP 3.4.4.1: signatures without extended session security are checksums; we make none",
        "unsupportedVersion": "RFC 9112 §2.3: this is a parser of HTTP/1.0 and 1.1 (flag anyVersion)",
        "malformedVersion": "RFC 9112 §2.3: HTTP in upper case, a digit, a dot, a digit, and nothing after it",
        "malformedStartLine": "RFC 9112 §3, §4: single spaces between the parts (flag extraSpacesInStartLine)",
        "invalidMethod": "RFC 9110 §9.1: a method is a token",
        "invalidStatusCode": "RFC 9110 §15: three digits from 100 up; one space before them",
        "invalidReasonPhrase": "RFC 9112 §4: no control characters",
        "bareLineFeed": """
        RFC 9112 §2.2 lets a recipient take LF alone for a line end, and parsers disagree: off by default, a flag \
        for heads, never in chunk lines and trailers
        """,
        "bareCarriageReturn": "RFC 9112 §2.2: a lone CR is invalid (flag bareCarriageReturn, in no preset)",
        "foldedLine": "RFC 9112 §5.2: a server must refuse folds outside message/http (flag foldedLines)",
        "leadingWhitespace": "RFC 9112 §2.2: whitespace before the first field is refused, never skipped",
        "whitespaceBeforeColon": "RFC 9112 §5.1: refused (flag whitespaceBeforeColon)",
        "missingColon": "RFC 9112 §5: a field line has a colon; invalid lines are refused, never skipped",
        "invalidFieldName": "RFC 9110 §5.1: a name is a token; invalid lines are refused, never skipped",
        "invalidFieldValue": "RFC 9110 §5.5: control characters are invalid (flag controlCharactersInValues)",
        "missingHost": "RFC 9112 §3.2: a request of HTTP/1.1 needs a Host (flag missingHost)",
        "repeatedHost": "RFC 9112 §3.2: more than one Host is refused",
        "invalidHost": "RFC 9112 §3.2: a Host that is not a host and port is refused",
        "invalidContentLength": "RFC 9110 §8.6: digits only; RFC 9112 §6.3: anything else is unrecoverable",
        "repeatedContentLength": "RFC 9110 §8.6: refused, as it allows (flag repeatedContentLength for equal ones)",
        "conflictingFraming": """
        RFC 9112 §6.1, §6.3: both fields are a sign of smuggling and ought to be an error (flag \
        transferEncodingOverridesLength)
        """,
        "invalidTransferEncoding": """
        RFC 9112 §6.1, §6.3: a request must end in chunked; chunked stands once, last, without parameters; empty \
        list elements are refused because recipients disagree
        """,
        "unknownTransferCoding": """
        RFC 9112 §6.1: a coding that is not registered cannot be undone (flag unknownTransferCodings)
        """,
        "transferEncodingInHTTP10": """
        RFC 9112 §6.1: framing with Transfer-Encoding in HTTP/1.0 is faulty (flag transferEncodingInHTTP10)
        """,
        "invalidChunkSize": """
        RFC 9112 §7.1: hexadecimal digits, at most 16; whitespace after them only before an extension, where \
        parsers disagree (flag whitespaceInChunkLines)
        """,
        "invalidChunkExtension": """
        RFC 9112 §7.1.1: ;name or ;name=value; whitespace in it only with flag whitespaceInChunkLines, as \
        parsers disagree
        """,
        "invalidChunkDelimiter": "RFC 9112 §7.1: chunk lines and chunks end in CR LF and nothing else",
        "dataAfterLastMessage": "RFC 9112 §9.6: nothing is processed after close (flag dataAfterLastMessage)",
        "tooManyEmptyLines": "limit leadingEmptyLines",
        "lineTooLong": "limit lineLength",
        "tooManyFields": "limit fieldCount",
        "headTooLong": "limit headLength",
        "chunkExtensionsTooLong": "limit chunkExtensionLength",
        "truncated": "RFC 9112 §8: a message that ends early is incomplete",
        "notAnEntry": "the line has no name, or not the columns of any format; nothing is made of it",
        "closeWins": "RFC 9112 §9.3: close ends the connection, whatever stands beside it",
        "transferEncodingWins": "RFC 9112 §6.3: beside Transfer-Encoding, Content-Length says nothing",
        "openSSLRefuses": """
        OpenSSL refuses the chain as well: its verdict is our floor (it counts the second of notAfter as over, for \
        one, which RFC 5280 §4.1.2.5 counts in)
        """,
        "certificateDates": "OpenSSL counts the second of notAfter as over, which RFC 5280 §4.1.2.5 counts in",
        "hostNameMismatch": """
        RFC 9525 §6.3: only subject alternative names count, never the subject; * is the whole first label, and \
        stands for no address
        """,
        "weakCertificate": "the system's security level: no SHA-1 signatures, no RSA key under 2048 bits",
        "invalidChain": "OpenSSL or ChainProfile finds the chain malformed: RFC 5280 §4.2, §6.1",
        "unknownRoot": "OpenSSL finds no way from the certificate to what is trusted",
        "proxyConnectionIgnored": "RFC 9112 §C.2.2: Proxy-Connection does not keep a connection open",
    ]
}
