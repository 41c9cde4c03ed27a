/// The catalogue of TLS's sentences: what happened, where, and what to do.
extension Sentence {
    // MARK: The peer's certificate

    static func certificateExpired(_ subject: String, on date: String, now: String) -> Sentence {
        Sentence(
            "tls.expired",
            "The certificate of %1 expired on %2. Its owner must renew it, unless this machine's clock (%3) is wrong.",
            subject, date, now)
    }

    static func certificateNotYetValid(_ subject: String, from date: String, now: String) -> Sentence {
        Sentence(
            "tls.notYetValid",
            "The certificate of %1 is not valid before %2. This machine's clock says %3: check it first.", subject,
            date, now)
    }

    static func nameMismatch(_ name: String, names: String) -> Sentence {
        names.isEmpty
            ? Sentence(
                "tls.nameless",
                "The certificate that came is not for %1: it names no host at all. Its owner must add the name.", name)
            : Sentence(
                "tls.nameMismatch",
                "The certificate that came is not for %1: it names %2. Use one of those names, or find out who answers there.",
                name, names)
    }

    static func unknownRoot(_ peer: String, issuer: String) -> Sentence {
        Sentence(
            "tls.unknownRoot",
            "The certificate of %1 leads to “%2”, which is not trusted here. If it should be, add that authority to the trusted "
                + "roots; if it is a well-known one, the peer forgot to send the certificates in between.",
            peer, issuer)
    }

    static func noRootsHere(_ peer: String) -> Sentence {
        Sentence(
            "tls.noRoots",
            "No certificate can be verified, that of %1 included: this machine has no trusted roots. Install the package "
                + "ca-certificates, or name the roots to trust.",
            peer)
    }

    static func selfSigned(_ peer: String, fingerprint: String) -> Sentence {
        Sentence(
            "tls.selfSigned",
            "The certificate of %1 is signed by nobody but itself. If it is the right one (SHA-256 %2), add it to the trusted roots.",
            peer, fingerprint)
    }

    static func revocationUnknown(_ subject: String, issuer: String, isMissing: Bool) -> Sentence {
        isMissing
            ? Sentence(
                "tls.noRevocationList",
                "Whether the certificate of %1 was revoked is not known: there is no list by “%2” among those to look at.",
                subject, issuer)
            : Sentence(
                "tls.badRevocationList",
                "Whether the certificate of %1 was revoked is not known: the list by “%2” is out of date or not genuine.",
                subject, issuer)
    }

    static func revocationListUnreadable(_ path: String) -> Sentence {
        Sentence("tls.revocationList", "There is no list of revoked certificates in %1.", path)
    }

    static func statusMissing(_ subject: String) -> Sentence {
        Sentence("tls.noStatus", "%1 does not prove that its certificate was not revoked, and it was to.", subject)
    }

    static func statusWorthless(_ subject: String, _ reason: String) -> Sentence {
        Sentence(
            "tls.badStatus", "The proof that the certificate of %1 was not revoked cannot be believed: %2.", subject,
            reason)
    }

    static func certificateRevoked(_ subject: String) -> Sentence {
        Sentence("tls.revoked", "The certificate of %1 was revoked by its issuer: do not trust it.", subject)
    }

    static func badCertificate(_ subject: String, reason: String) -> Sentence {
        Sentence("tls.badCertificate", "The certificate of %1 cannot be accepted: %2.", subject, reason)
    }

    static func badCertificate(_ subject: String, _ fault: CertificateFault) -> Sentence {
        Sentence(
            "tls.badCertificate.\(fault.rawValue)", "The certificate of %1 cannot be accepted: \(fault.text).", subject)
    }

    static func pinMissing(_ peer: String, found: String) -> Sentence {
        Sentence(
            "tls.pin",
            "None of the pinned keys is in the certificates of %1, whose own key is %2. Either its key was changed without the "
                + "pins, or somebody poses as it.",
            peer, found)
    }

    static func refusedByRule(_ peer: String) -> Sentence {
        Sentence("tls.rule", "The certificate of %1 was refused by this program's own rule.", peer)
    }

    static func clientCertificateMissing() -> Sentence {
        Sentence("tls.clientCertificate", "The client showed no certificate, and this server requires one.")
    }

    // MARK: The handshake

    static func notTLS(_ peer: String, answer: String) -> Sentence {
        Sentence(
            "tls.notTLS",
            "%1 does not speak TLS here: it answered with %2. Check the port, or connect without TLS and upgrade if the protocol "
                + "can do that.",
            peer, answer)
    }

    static func versionRefused(_ peer: String, _ least: TLSVersion, _ most: TLSVersion) -> Sentence {
        least == most
            ? Sentence("tls.version", "%1 does not speak %2, the only version allowed here.", peer, least.description)
            : Sentence(
                "tls.versions", "%1 speaks no version of TLS that is allowed here (%2 to %3).", peer, least.description,
                most.description)
    }

    static func nothingInCommon(_ peer: String, reason: String) -> Sentence {
        Sentence("tls.negotiation", "There is no agreement with %1: %2.", peer, reason)
    }

    static func closedInHandshake(_ peer: String) -> Sentence {
        Sentence(
            "tls.closedInHandshake",
            "%1 closed the connection in the middle of the TLS handshake. It may not speak TLS on this port, or refuse this client.",
            peer)
    }

    static func alert(_ peer: String, _ meaning: String, advice: String) -> Sentence {
        advice.isEmpty
            ? Sentence("tls.alert", "%1 ended TLS with the alert “%2”.", peer, meaning)
            : Sentence("tls.alertAdvice", "%1 ended TLS with the alert “%2”: %3.", peer, meaning, advice)
    }

    static func protocolBroken(_ peer: String, reason: String) -> Sentence {
        Sentence("tls.protocol", "%1 broke the rules of TLS: %2.", peer, reason)
    }

    static func internalFailure(_ reason: String) -> Sentence {
        Sentence("tls.internal", "OpenSSL failed on this side: %1.", reason)
    }

    static func bytesBeforeHandshake(_ peer: String) -> Sentence {
        Sentence(
            "tls.bytesBefore",
            "%1 sent something between its leave to begin TLS and the handshake; somebody on the way may have put it in.",
            peer)
    }

    // MARK: The open connection

    static func truncated(_ peer: String) -> Sentence {
        Sentence(
            "tls.truncated", "The connection with %1 ended without TLS's farewell: what was received may be cut short.",
            peer)
    }

    static func recordChanged(_ peer: String) -> Sentence {
        Sentence("tls.changed", "Data from %1 was changed on its way: a record did not verify.", peer)
    }

    static func onlyOverhead(_ peer: String, bytes: Int) -> Sentence {
        Sentence("tls.overhead", "%1 sent %2 bytes of TLS messages without any data among them.", peer, String(bytes))
    }

    // MARK: The configuration

    static func noPeerName() -> Sentence {
        Sentence(
            "tls.noName",
            "There is no name to check the peer's certificate for. Set peerName, or say that the name must not be checked."
        )
    }

    static func badPeerName(_ name: String, reason: String) -> Sentence {
        Sentence("tls.badName", "“%1” can be no name in a certificate: %2", name, reason)
    }

    static func serverWithoutIdentity() -> Sentence {
        Sentence("tls.noIdentity", "A TLS server needs a certificate and its private key; set the identity.")
    }

    static func noVersionLeft() -> Sentence {
        Sentence("tls.noVersion", "The minimum version of TLS is above the maximum.")
    }

    static func badCiphers(_ text: String) -> Sentence {
        Sentence("tls.ciphers", "OpenSSL knows no usable cipher in “%1”.", text)
    }

    static func badProtocols() -> Sentence {
        Sentence("tls.alpn", "The names of application protocols must have 1 to 255 bytes, and 65535 in all.")
    }

    static func rootsUnreadable(_ path: String, reason: String) -> Sentence {
        Sentence("tls.roots", "No trusted roots can be read from %1: %2.", path, reason)
    }

    static func certificateUnreadable(_ source: String, reason: String) -> Sentence {
        Sentence("tls.certificate", "There is no readable certificate in %1: %2.", source, reason)
    }

    static func keyUnreadable(_ source: String, reason: String) -> Sentence {
        Sentence("tls.key", "The private key in %1 cannot be read: %2.", source, reason)
    }

    static func keyDoesNotMatch() -> Sentence {
        Sentence("tls.keyMismatch", "The private key belongs to none of the certificates.")
    }

    static func pinUnreadable(_ text: String) -> Sentence {
        Sentence("tls.badPin", "“%1” is no pin: it should be sha256// and 44 letters of base64.", text)
    }
}

// MARK: - Before TLS begins

extension Sentence {
    static func startTLSNotGreeted(_ kind: String, _ line: String) -> Sentence {
        Sentence("startTLS.greeting", "This is no %1 server that is ready: it says “%2”.", kind, readable(line))
    }

    static func startTLSRefused(_ kind: String, _ line: String) -> Sentence {
        Sentence("startTLS.refused", "The %1 server does not go over to TLS: it says “%2”.", kind, readable(line))
    }

    static let startTLSNotOffered = Sentence(
        "startTLS.offer", "The server does not offer STARTTLS, or somebody on the way has removed the offer.")

    static let startTLSInjected = Sentence(
        "startTLS.injected",
        "Something came between the server's consent to TLS and the handshake: somebody on the way may have put it there."
    )

    static let startTLSTooLong = Sentence(
        "startTLS.long", "The server says more than such a server may before TLS begins.")

    static let doesNotReturnToPlain = Sentence(
        "tls.noReturn",
        "The connection can't go on in plain: bytes that follow TLS may have been read with it. Set `returnsToPlain` of its TLS configuration."
    )

    static let notAtEndOfTLS = Sentence(
        "tls.notEnded",
        "TLS has not ended in both directions: finish the output and read the input to its end first.")

    static let dataAfterFarewell = Sentence(
        "tls.dataAfterFarewell", "The peer goes on sending in TLS, though both were to end it.")

    static let startTLSEnded = Sentence("startTLS.ended", "The server closed the connection before TLS began.")

    /// What a person can read of a line that came from a server.
    private static func readable(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(80).map { $0.properties.generalCategory == .control ? "?" : String($0) }
        return start.joined() + (text.unicodeScalars.count > 80 ? "…" : "")
    }
}
