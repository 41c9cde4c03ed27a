import StreamKit

/// The reasons for rejecting what a source accepts: a sentence for each rule, by the name of the error that reports it.
enum Rules {
    static let sentences: [String: String] = [
        "invalidTarget": """
        RFC 9112 §3.2: a target has one of four forms; * is for OPTIONS only, host:port for CONNECT only; RFC 3986: \
        no bytes above 0x7F (flags nonASCIITarget, anyTargetForm)
        """,
        "noURL": """
        RFC 3986: a URL with invalid characters or syntax is rejected, where WHATWG's URL Standard repairs it; a host \
        whose last label is a number is neither an address nor a name
        """,
        "malformedChallenge":
            "RFC 9110 §11: a malformed challenge is dropped together with the rest of its field",
        "unsupportedChallenge": "RFC 7616 §3.3: a challenge with an unknown algorithm or qop is ignored",
        "ntlmVersion1": "NTLMv1 and LM are not implemented: their responses reveal the password",
        "ntlmWithoutExtendedSecurity":
            "MS-NLMP 3.4.4.1: signatures without extended session security are only checksums; not implemented",
        "unsupportedVersion": "RFC 9112 §2.3: the parser supports HTTP/1.0 and 1.1 (flag anyVersion)",
        "malformedVersion": "RFC 9112 §2.3: HTTP/ in upper case, a digit, a dot and a digit",
        "malformedStartLine": "RFC 9112 §3, §4: single spaces separate the parts (flag extraSpacesInStartLine)",
        "invalidMethod": "RFC 9110 §9.1: a method is a token",
        "invalidStatusCode": "RFC 9110 §15: a number from 100 to 999, after one space",
        "invalidReasonPhrase": "RFC 9112 §4: no control characters",
        "bareLineFeed": """
        RFC 9112 §2.2 allows recipients to accept LF alone, but parsers disagree: rejected by default, accepted in \
        heads with flag bareLineFeed, never in chunk lines and trailers
        """,
        "bareCarriageReturn": "RFC 9112 §2.2: a lone CR is invalid (flag bareCarriageReturn, not part of .client)",
        "foldedLine": "RFC 9112 §5.2: a server must reject folds outside message/http (flag foldedLines)",
        "leadingWhitespace": "RFC 9112 §2.2: whitespace before the first field is rejected, not skipped",
        "whitespaceBeforeColon": "RFC 9112 §5.1: whitespace before the colon is rejected (flag whitespaceBeforeColon)",
        "missingColon": "RFC 9112 §5: a field line has a colon; invalid lines are rejected, not skipped",
        "invalidFieldName": "RFC 9110 §5.1: a name is a token; invalid lines are rejected, not skipped",
        "invalidFieldValue": "RFC 9110 §5.5: control characters are invalid (flag controlCharactersInValues)",
        "missingHost": "RFC 9112 §3.2: an HTTP/1.1 request has a Host field (flag missingHost)",
        "repeatedHost": "RFC 9112 §3.2: a request has at most one Host field",
        "invalidHost": "RFC 9112 §3.2: Host is a host with an optional port",
        "invalidContentLength":
            "RFC 9110 §8.6: a decimal number; RFC 9112 §6.3: anything else is an unrecoverable error",
        "repeatedContentLength":
            "RFC 9110 §8.6 allows rejecting repeated values (flag repeatedContentLength accepts equal digits)",
        "conflictingFraming": """
        RFC 9112 §6.1, §6.3: the presence of both fields indicates smuggling and should be an error (flag \
        transferEncodingOverridesLength)
        """,
        "invalidTransferEncoding": """
        RFC 9112 §6.1, §6.3: a request's codings end in chunked; chunked occurs once, last and without parameters; \
        empty list elements are rejected because recipients disagree (flag emptyTransferCodings, for servers only)
        """,
        "unknownTransferCoding": """
        RFC 9112 §6.1: an unregistered coding cannot be decoded (flag unknownTransferCodings)
        """,
        "transferEncodingInHTTP10": """
        RFC 9112 §6.1: Transfer-Encoding in HTTP/1.0 is faulty framing (flag transferEncodingInHTTP10)
        """,
        "invalidChunkSize": """
        RFC 9112 §7.1: at most 16 hexadecimal digits; whitespace is allowed only before an extension, and rejected \
        because parsers disagree (flags paddedChunkSizes, for servers only, and whitespaceInChunkLines)
        """,
        "invalidChunkExtension": """
        RFC 9112 §7.1.1: ;name or ;name=value; whitespace and empty extensions are rejected because parsers disagree (flags \
        whitespaceInChunkLines and emptyChunkExtensions, for servers only)
        """,
        "invalidChunkDelimiter": "RFC 9112 §7.1: chunk lines and chunks end in CR LF",
        "dataAfterLastMessage":
            "RFC 9112 §9.6: nothing is processed after the last message (flag dataAfterLastMessage)",
        "tooManyEmptyLines": "limit leadingEmptyLines",
        "lineTooLong": "limit lineLength",
        "tooManyFields": "limit fieldCount",
        "headTooLong": "limit headLength",
        "chunkExtensionsTooLong": "limit chunkExtensionLength",
        "truncated": "RFC 9112 §8: a message that ends early is incomplete",
        "notAnEntry": "the line has no name or does not match any format; it is not an entry",
        "closeWins": "RFC 9112 §9.3: close ends the connection, regardless of other options",
        "transferEncodingWins": "RFC 9112 §6.3: Transfer-Encoding overrides Content-Length",
        "openSSLRefuses": """
        OpenSSL rejects the chain as well, and we never accept more than OpenSSL (for example, it treats a certificate \
        as expired in the second of notAfter, which RFC 5280 §4.1.2.5 includes)
        """,
        "certificateDates":
            "OpenSSL treats a certificate as expired in the second of notAfter, which RFC 5280 §4.1.2.5 includes",
        "hostNameMismatch": """
        RFC 9525 §6.3: only subject alternative names are compared, never the subject; * is the whole first label and \
        does not match addresses
        """,
        "weakCertificate": "the system's security level forbids SHA-1 signatures and RSA keys under 2048 bits",
        "invalidChain": "OpenSSL or ChainProfile finds the chain malformed: RFC 5280 §4.2, §6.1",
        "unknownRoot": "OpenSSL finds no chain from the certificate to a trusted root",
        "hpackLimits": "limits listSize and fieldCount of HPACKLimits",
        "cookieNotSent": "RFC 6265bis §5: the cookie is not stored, or not for this request",
        "cookieDate": "RFC 6265bis §5.1.1: the text is no date",
        "noEventStream": "WHATWG HTML §9.2.3: the response is no stream of events",
        "proxyConnectionIgnored": "RFC 9112 §C.2.2: Proxy-Connection does not keep a connection open",
    ]
}

extension Rules {
    /// Returns the name of the rule that rejected a certificate.
    static func name(of error: StreamError) -> String {
        switch error.tlsFailure {
        case .certificateExpired, .certificateNotYetValid: "certificateDates"
        case .hostNameMismatch: "hostNameMismatch"
        case .badCertificate: "weakCertificate"
        case .invalidChain: "invalidChain"
        case .unknownRoot, .noRoot: "unknownRoot"
        default: "tls \(error)"
        }
    }
}
