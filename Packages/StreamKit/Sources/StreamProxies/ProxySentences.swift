/// The catalogue of messages about proxies: what failed, where, and what to do.
extension Sentence {
    package static func targetNotForProxies(_ target: String, _ reason: String) -> Sentence {
        Sentence("proxy.target", "A proxy cannot connect to %1: %2.", readable(target), reason)
    }

    static func proxyFieldTooLong(_ what: String, _ length: Int, _ limit: Int) -> Sentence {
        Sentence(
            "proxy.tooLong", "%1 is too long: %2 bytes, and SOCKS allows at most %3. Nothing was sent to the proxy.",
            what,
            String(length), String(limit))
    }

    static func proxyFieldUnsendable(_ what: String) -> Sentence {
        Sentence("proxy.unsendable", "%1 is empty or contains a NUL byte, which SOCKS cannot carry.", what)
    }

    static let proxyPasswordUnsendable4 = Sentence(
        "proxy.password4", "SOCKS 4 carries no password: use version 5, or leave the password out.")

    static let proxyPasswordWithoutUser = Sentence(
        "proxy.passwordAlone", "The proxy has a password and no user: set both, or neither.")

    static func proxyNeedsIPv4(_ target: String) -> Sentence {
        Sentence(
            "socks.needsIPv4", "SOCKS 4 cannot connect to the IPv6 address %1; use version 5.", target)
    }

    static func proxyWrongVersion(_ proxy: String, _ expected: Int, _ found: UInt8) -> Sentence {
        if found == UInt8(ascii: "H") {
            return Sentence(
                "socks.isHTTP", "%1 answered like an HTTP server, not like a SOCKS proxy; check its kind and port.",
                proxy)
        }
        return Sentence(
            "socks.version",
            "%1 answered with version %3 instead of %2: it does not speak this version of SOCKS.",
            proxy, String(expected), String(found))
    }

    static func proxyNoMethod(_ proxy: String, offersPassword: Bool) -> Sentence {
        offersPassword
            ? Sentence(
                "socks.noMethod",
                "%1 accepts neither anonymous clients nor user name and password; it may require GSSAPI.", proxy
            )
            : Sentence("socks.needsUser", "%1 requires a login: set a user name and password.", proxy)
    }

    static func proxyUnofferedMethod(_ proxy: String, _ method: UInt8) -> Sentence {
        Sentence(
            "socks.method", "%1 chose authentication method %2, which was not offered.", proxy, String(method))
    }

    static func proxyBadCredentials(_ proxy: String) -> Sentence {
        Sentence("socks.credentials", "%1 rejected the user name or password.", proxy)
    }

    static func proxyRefused(_ proxy: String, _ target: String, code: UInt8) -> Sentence {
        switch code {
        case 1: Sentence("socks.general", "%1 failed to connect to %2, without giving a reason.", proxy, target)
        case 2: Sentence("socks.rules", "%1 does not allow connections to %2.", proxy, target)
        case 3: Sentence("socks.network", "%1 has no route to the network of %2.", proxy, target)
        case 4: Sentence("socks.host", "%1 cannot reach the host of %2, or does not know its name.", proxy, target)
        case 5: Sentence("socks.refused", "%2 refused the connection from %1: nothing listens there.", proxy, target)
        case 6: Sentence("socks.ttl", "The time to live of packets from %1 to %2 expired.", proxy, target)
        case 7: Sentence("socks.command", "%1 does not support the CONNECT command.", proxy)
        case 8: Sentence("socks.address", "%1 does not support the address type of %2.", proxy, target)
        default:
            Sentence(
                "socks.code", "%1 did not connect to %2, with the unknown reply code %3.", proxy, target,
                String(code))
        }
    }

    static func proxyRefused4(_ proxy: String, _ target: String, code: UInt8) -> Sentence {
        switch code {
        case 91: Sentence("socks4.failed", "%1 refused or failed to connect to %2.", proxy, target)
        case 92:
            Sentence(
                "socks4.identd", "%1 requires an identd on this machine that identifies the user, and none answers.",
                proxy)
        case 93:
            Sentence(
                "socks4.conflict", "%1 got a different user ID from this machine's identd than from this program.",
                proxy)
        default:
            Sentence(
                "socks4.code", "%1 did not connect to %2, with the unknown reply code %3.", proxy, target,
                String(code))
        }
    }

    static func proxyBadBoundAddress(_ proxy: String, _ kind: UInt8) -> Sentence {
        Sentence("socks.bound", "%1 answered with an unknown address type (%2).", proxy, String(kind))
    }

    static func proxyDisconnected(_ proxy: String, _ step: String) -> Sentence {
        Sentence("socks.brokeOff", "%1 closed the connection %2; it may not speak this version of SOCKS.", proxy, step)
    }

    /// The readable beginning of a text from outside: at most 80 characters, without control characters.
    private static func readable(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(80).map { $0.properties.generalCategory == .control ? "?" : String($0) }
        return start.joined() + (text.unicodeScalars.count > 80 ? "…" : "")
    }
}

// MARK: Settings

extension Sentence {
    static func proxyUnreadable(_ reason: String) -> Sentence {
        Sentence(
            "proxy.unreadable", "Invalid proxy: %1. The form is kind://user:password@host:port.", reason)
    }

    static func proxyVariable(_ name: String, _ reason: String) -> Sentence {
        Sentence("proxy.variable", "The environment variable %1 is invalid. %2", name, reason)
    }
}

extension Sentence {
    static func settingsLine(_ number: Int, _ reason: String) -> Sentence {
        Sentence("proxy.line", "Line %1 of the proxy settings is invalid. %2", String(number), reason)
    }

    static func settingsUnreadable(_ reason: String) -> Sentence {
        Sentence("proxy.setting", "It cannot be read: %1.", reason)
    }
}

/// The catalogue of messages about proxy scripts.
extension Sentence {
    package static func scriptTooLarge(_ limit: Int) -> Sentence {
        Sentence("script.size", "The proxy script is larger than the limit of %1 bytes.", String(limit))
    }

    package static let scriptNeedsHost = Sentence(
        "script.host", "The URL has no host, so no proxy script can decide about it.")

    package static func scriptNotLocal(_ url: String) -> Sentence {
        Sentence(
            "script.elsewhere",
            "The proxy script at %1 must be loaded first; HTTPStream does that for http and https.",
            url)
    }

    package static func scriptUnreadable(_ reason: String) -> Sentence {
        Sentence("script.unreadable", "The proxy script cannot be read: %1.", trimmed(reason))
    }

    package static func scriptFailed(_ reason: String) -> Sentence {
        Sentence("script.failed", "The proxy script failed: %1.", trimmed(reason))
    }

    package static func scriptUnreadableByOldEngine(_ reason: String) -> Sentence {
        Sentence("script.unreadable.old", "The proxy script cannot be read: %1. \(newerEngine)", trimmed(reason))
    }

    package static func scriptFailedInOldEngine(_ reason: String) -> Sentence {
        Sentence("script.failed.old", "The proxy script failed: %1. \(newerEngine)", trimmed(reason))
    }

    private static let newerEngine =
        "libpacparser knows only the JavaScript of 2007; the Debian package libjavascriptcoregtk-6.0-1 knows today's."

    package static func scriptsRefused(_ reason: String) -> Sentence {
        Sentence("script.refused", "Proxy scripts cannot be run: %1.", reason)
    }

    package static let scriptsNeedEngine = Sentence(
        "script.engine",
        "Proxy scripts need an engine, and this machine has none. Install the Debian package libjavascriptcoregtk-6.0-1, or libpacparser1."
    )

    package static let scriptEndedEarly = Sentence(
        "script.died", "The proxy script ended without an answer: it crashed, or exceeded a limit.")

    package static let scriptNotStarted = Sentence(
        "script.notStarted", "The helper process for the proxy script ended before it was ready.")

    package static func scriptNamesTooMany(_ limit: Int) -> Sentence {
        Sentence("script.names", "The proxy script looked up more than %1 names.", String(limit))
    }

    package static func scriptTooSlow(_ limit: Duration) -> Sentence {
        Sentence("script.slow", "The proxy script exceeded its time limit of %1 and was ended.", "\(limit)")
    }

    package static func scriptAnswerTooLong(_ limit: Int) -> Sentence {
        Sentence("script.long", "The proxy script's answer is longer than the limit of %1 bytes.", String(limit))
    }

    package static func scriptAnswerTooMany(_ limit: Int) -> Sentence {
        Sentence("script.many", "The proxy script named more than %1 proxies.", String(limit))
    }

    package static func scriptAnswerUnknown(_ entry: String) -> Sentence {
        Sentence("script.answer", "The proxy script answered “%1”, which names no proxy.", trimmed(entry))
    }

    /// The readable part of a text from a script: one line, at most 200 characters.
    private static func trimmed(_ text: String) -> String {
        let words = text.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
        let shown = words.unicodeScalars.prefix(200).map { scalar in
            scalar.properties.generalCategory == .control ? "?" : String(scalar)
        }
        let line = shown.joined() + (words.unicodeScalars.count > 200 ? "…" : "")
        return line.isEmpty ? "it gave no reason" : line.hasSuffix(".") ? String(line.dropLast()) : line
    }
}

extension StreamError {
    /// `kCFErrorPACFileError`; CFStream has no number of its own for this error.
    package static func script(
        _ sentence: Sentence, reason: StreamErrorReason? = nil, underlying: (any Error)? = nil
    ) -> StreamError {
        StreamError(domain: .http, code: 308, sentence: sentence, reason: reason, underlying: underlying)
    }
}
