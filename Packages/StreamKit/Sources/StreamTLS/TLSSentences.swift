/// The catalogue of TLS sentences: what failed, where, and what to do.
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
            "The certificate of %1 is not valid before %2. This machine's clock shows %3: check it first.", subject,
            date, now)
    }

    static func nameMismatch(_ name: String, names: String) -> Sentence {
        names.isEmpty
            ? Sentence(
                "tls.nameless",
                "The server's certificate is not for %1: it names no host at all. Its owner must add the name.", name)
            : Sentence(
                "tls.nameMismatch",
                "The server's certificate is not for %1: it names %2. Use one of these names, or check that this is the right server.",
                name, names)
    }

    static func unknownRoot(_ peer: String, issuer: String) -> Sentence {
        Sentence(
            "tls.unknownRoot",
            "The certificate of %1 is issued by “%2”, which is not trusted. To trust it, add that authority to the trusted roots. "
                + "If the authority is well known, the peer did not send its intermediate certificates.",
            peer, issuer)
    }

    static func noTrustedRoots(_ peer: String) -> Sentence {
        Sentence(
            "tls.noRoots",
            "The certificate of %1 cannot be verified: this machine has no trusted roots. Install the package ca-certificates, "
                + "or set the roots to trust.",
            peer)
    }

    static func selfSigned(_ peer: String, fingerprint: String) -> Sentence {
        Sentence(
            "tls.selfSigned",
            "The certificate of %1 is self-signed. If it is the right one (SHA-256 %2), add it to the trusted roots.",
            peer, fingerprint)
    }

    static func revocationUnknown(_ subject: String, issuer: String, isMissing: Bool) -> Sentence {
        isMissing
            ? Sentence(
                "tls.noRevocationList",
                "It is unknown whether the certificate of %1 was revoked: no revocation list of “%2” is configured.",
                subject, issuer)
            : Sentence(
                "tls.badRevocationList",
                "It is unknown whether the certificate of %1 was revoked: the revocation list of “%2” is out of date or not genuine.",
                subject, issuer)
    }

    static func revocationListUnreadable(_ path: String) -> Sentence {
        Sentence("tls.revocationList", "%1 contains no certificate revocation list.", path)
    }

    static func statusMissing(_ subject: String) -> Sentence {
        Sentence(
            "tls.noStatus",
            "%1 sent no OCSP response, which this connection requires to prove that its certificate was not revoked.",
            subject)
    }

    static func statusUnusable(_ subject: String, _ reason: String) -> Sentence {
        Sentence(
            "tls.badStatus", "The OCSP response for the certificate of %1 is not usable: %2.", subject, reason)
    }

    static func certificateRevoked(_ subject: String) -> Sentence {
        Sentence("tls.revoked", "The certificate of %1 was revoked by its issuer; do not trust it.", subject)
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
            "No certificate of %1 has a pinned key; its own key is %2. Either its key has changed and the pins must be updated, "
                + "or another server impersonates it.",
            peer, found)
    }

    static func rejectedByVerifier(_ peer: String) -> Sentence {
        Sentence("tls.rule", "The certificate of %1 was rejected by this program's own verification rule.", peer)
    }

    static func clientCertificateMissing() -> Sentence {
        Sentence("tls.clientCertificate", "The client sent no certificate, but this server requires one.")
    }

    // MARK: The handshake

    static func notTLS(_ peer: String, answer: String) -> Sentence {
        Sentence(
            "tls.notTLS",
            "%1 does not speak TLS: it answered with %2. Check the port, or connect without TLS and upgrade (STARTTLS) if the "
                + "protocol allows it.",
            peer, answer)
    }

    static func versionRefused(_ peer: String, _ least: TLSVersion, _ most: TLSVersion) -> Sentence {
        least == most
            ? Sentence("tls.version", "%1 does not support %2, the only version allowed.", peer, least.description)
            : Sentence(
                "tls.versions", "%1 supports no allowed version of TLS (%2 to %3).", peer, least.description,
                most.description)
    }

    static func noCommonParameters(_ peer: String, reason: String) -> Sentence {
        Sentence("tls.negotiation", "The TLS handshake with %1 found no common parameters: %2.", peer, reason)
    }

    static func closedInHandshake(_ peer: String) -> Sentence {
        Sentence(
            "tls.closedInHandshake",
            "%1 closed the connection during the TLS handshake. It may not speak TLS on this port, or it rejects this client.",
            peer)
    }

    static func alert(_ peer: String, _ meaning: String, advice: String) -> Sentence {
        advice.isEmpty
            ? Sentence("tls.alert", "%1 ended TLS with the alert “%2”.", peer, meaning)
            : Sentence("tls.alertAdvice", "%1 ended TLS with the alert “%2”: %3.", peer, meaning, advice)
    }

    static func protocolViolated(_ peer: String, reason: String) -> Sentence {
        Sentence("tls.protocol", "%1 violated the TLS protocol: %2.", peer, reason)
    }

    static func internalFailure(_ reason: String) -> Sentence {
        Sentence("tls.internal", "OpenSSL failed on this machine: %1.", reason)
    }

    package static func bytesBeforeHandshake(_ peer: String) -> Sentence {
        Sentence(
            "tls.bytesBefore",
            "%1 sent data between agreeing to TLS and the handshake; an attacker on the path may have inserted it.",
            peer)
    }

    // MARK: The open connection

    static func truncated(_ peer: String) -> Sentence {
        Sentence(
            "tls.truncated", "%1 closed the connection without TLS close_notify: the received data may be truncated.",
            peer)
    }

    static func recordAltered(_ peer: String) -> Sentence {
        Sentence("tls.changed", "Data from %1 was altered in transit: a TLS record failed verification.", peer)
    }

    static func onlyOverhead(_ peer: String, bytes: Int) -> Sentence {
        Sentence("tls.overhead", "%1 sent %2 bytes of TLS messages without any data.", peer, String(bytes))
    }

    // MARK: The configuration

    static func noPeerName() -> Sentence {
        Sentence(
            "tls.noName",
            "There is no name to check the peer's certificate against. Set peerName, or turn off the check of the name."
        )
    }

    static func badPeerName(_ name: String, reason: String) -> Sentence {
        Sentence("tls.badName", "“%1” cannot be a name in a certificate: %2", name, reason)
    }

    package static func serverWithoutIdentity() -> Sentence {
        Sentence("tls.noIdentity", "A TLS server needs a certificate and its private key: set the identity.")
    }

    package static var listenerWithoutTLS: Sentence {
        Sentence("tls.listenerWithoutTLS", "The listener was made without TLS, so its TLS cannot be replaced.")
    }

    static func noVersionLeft() -> Sentence {
        Sentence("tls.noVersion", "The minimum TLS version is above the maximum.")
    }

    static func badCiphers(_ text: String) -> Sentence {
        Sentence("tls.ciphers", "“%1” contains no cipher that OpenSSL can use.", text)
    }

    static func badProtocols() -> Sentence {
        Sentence(
            "tls.alpn",
            "The name of an application protocol must have 1 to 255 bytes, and all names together at most 65535.")
    }

    static func rootsUnreadable(_ path: String, reason: String) -> Sentence {
        Sentence("tls.roots", "The trusted roots in %1 cannot be read: %2.", path, reason)
    }

    static func certificateUnreadable(_ source: String, reason: String) -> Sentence {
        Sentence("tls.certificate", "The certificate in %1 cannot be read: %2.", source, reason)
    }

    static func keyUnreadable(_ source: String, reason: String) -> Sentence {
        Sentence("tls.key", "The private key in %1 cannot be read: %2.", source, reason)
    }

    static func keyDoesNotMatch() -> Sentence {
        Sentence("tls.keyMismatch", "The private key does not match any of the certificates.")
    }

    static func pinUnreadable(_ text: String) -> Sentence {
        Sentence("tls.badPin", "“%1” is not a pin: it must be sha256// and 44 characters of base64.", text)
    }
}

// MARK: - The end of TLS

extension Sentence {
    static let doesNotReturnToPlain = Sentence(
        "tls.noReturn",
        "The connection cannot continue without TLS: bytes that follow TLS may already have been read. Set `returnsToPlain` in its TLS configuration."
    )

    static let notAtEndOfTLS = Sentence(
        "tls.notEnded",
        "TLS has not ended in both directions: first finish the output and read the input to its end.")
}
