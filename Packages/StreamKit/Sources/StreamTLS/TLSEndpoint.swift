internal import COpenSSL
@_spi(Packages) internal import EventLoops
internal import Glibc

/// One side of a TLS connection: owns an `SSL` and performs all operations on it. It takes no lock and never waits.
///
/// Theory of operation. OpenSSL calls ``TLSLower`` for bytes, which never reports a failure to it (see there). Whenever
/// OpenSSL asks to be called again, the reason is therefore found in `lower`: it would block, it ended, or it threw.
/// All other failures of OpenSSL are final, and every later call throws the same error.
///
/// A peer can send messages that carry no data (tickets, key updates, empty records) for as long as it likes, and
/// OpenSSL continues to read them. ``maximumOverhead`` bounds their total, ``bytesPerCall`` and
/// ``recordsPerCall`` what one call takes of them, and ``recordsPerRead`` how many OpenSSL handles before the loop's other work has its turn.
final class TLSEndpoint {
    private enum Phase {
        case handshake
        case open
        case failed(StreamError)
    }

    /// The maximum number of bytes received without any data among them, in the handshake or later.
    static let maximumOverhead = 1 << 20

    /// The maximum number of bytes that one call takes from the transport below. A call that reaches it would block,
    /// and is signalled in the loop's next turn, so that a peer that sends only overhead holds up neither the loop nor
    /// a thread that waits for the lock. Enough for the largest record (RFC 5246 §6.2.3: 18,437 bytes) after a few
    /// tickets, so data is not delayed.
    static let bytesPerCall = 20 << 10

    /// The maximum number of records that one call takes, for the same purpose: a record without data takes 22 bytes and tens of
    /// microseconds. A call ends with the first record that has data.
    static let recordsPerCall = 32

    /// The maximum number of records that OpenSSL gets at a time. Between two such reads, the call ends if the loop's other work is due
    /// (`EventLoop.isShareSpent`): many peers may send records without data at the same time. A read of 16 KiB of data contains two
    /// records at most.
    static let recordsPerRead = 8

    let context: TLSContext
    private let peer: TLSPeer
    /// Also read for ``TLSInformation`` and the channel bindings.
    let ssl: OpaquePointer
    private let lower: TLSLower
    private let verification: PeerVerification
    private let allowsTruncation: Bool
    private let returnsToPlain: Bool
    private var phase = Phase.handshake
    private var hasBegun = false
    private var hasFinished = false
    private var hasReadEnd = false
    private var cachedInformation: TLSInformation?
    /// The channel binding to the server's certificate, once it has been asked for. Its value is nil if there is none.
    var cachedServerEndPoint: [UInt8]??

    init(
        _ configuration: borrowing TLSConfiguration, _ context: TLSContext, _ peer: TLSPeer,
        over lower: any StreamTransport
    ) throws(StreamError) {
        OpenSSLErrors.clear()
        let below = TLSLower(lower)
        guard let ssl = SSL_new(context.pointer) else {
            throw StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text))
        }
        self.ssl = ssl
        self.context = context
        self.peer = peer
        self.lower = below
        verification = PeerVerification(context, peer)
        allowsTruncation = configuration.allowsTruncation
        returnsToPlain = configuration.returnsToPlain
        guard let bio = below.makeBIO() else {
            throw StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text))
        }
        SSL_set_bio(ssl, bio, bio)
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if returnsToPlain { netkit_SSL_set_read_ahead(ssl, 0) }
        try setNames()
        requestStatus()
        if context.configuration.role == .client { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
    }

    deinit {
        SSL_free(ssl)
    }

    private func setNames() throws(StreamError) {
        var isSet = true
        if let name = peer.indicatedName { isSet = netkit_SSL_set_tlsext_host_name(ssl, name) == 1 }
        if context.configuration.verification == .full, let parameters = SSL_get0_param(ssl) {
            isSet = isSet && peer.require(in: parameters)
        }
        // If a failure were ignored here, the name would not be verified.
        guard isSet else { throw StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text)) }
    }
}

// MARK: - Opening

extension TLSEndpoint {
    /// Performs one step of the handshake.
    func handshake() throws(StreamError) -> OpenAttempt {
        switch phase {
        case .open: return .opened
        case .failed(let error): throw error
        case .handshake: break
        }
        if !hasBegun {
            hasBegun = true
            // As late as possible: this takes the newest ticket, and a connection that never came about uses none up.
            if let key = peer.sessionKey, let session = context.takeSession(for: key) {
                _ = session.withPointer { SSL_set_session(ssl, $0) }
            }
        }
        if lower.hasUnsent, let interest = try flushForHandshake() { return .wouldBlock(interest) }
        OpenSSLErrors.clear()
        lower.beginCall()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            if lower.hasUnsent, let interest = try flushForHandshake() { return .wouldBlock(interest) }
            if let error = lower.writeFailure { throw fail(error) }
            try acceptPeer()
            lower.received = 0
            phase = .open
            return .opened
        }
        guard wantsMore(result) else { throw fail(diagnose(isHandshake: true)) }
        return .wouldBlock(try interest(inHandshake: true))
    }

    private func flushForHandshake() throws(StreamError) -> Interest? {
        do throws(StreamError) {
            return try lower.flush()
        } catch {
            // The peer may have sent the reason before it disconnected. That is the better error, so continue to read.
            return nil
        }
    }

    /// Makes sure that OpenSSL has verified the peer.
    private func acceptPeer() throws(StreamError) {
        guard context.verifiesServers else { return }
        guard SSL_get_verify_result(ssl) == Int(X509_V_OK), SSL_get0_peer_certificate(ssl) != nil else {
            throw fail(StreamError(.invalidChain, .badCertificate(peer.name, reason: "it was not verified")))
        }
    }

    /// Verifies the peer's certificates. Called by OpenSSL.
    func verifyPeer(_ store: OpaquePointer?) -> Bool {
        store.map(verification.verify) ?? false
    }

    /// Called by OpenSSL for each certificate and each error. Returns whether to continue.
    func judge(isAccepted: Bool, _ store: OpaquePointer?) -> Bool {
        if isAccepted { return true }
        return store.map(verification.allowError(in:)) ?? false
    }

    /// Keeps a session to resume later. Called by OpenSSL.
    func keep(_ session: TLSSession) {
        guard let key = peer.sessionKey, verification.failure == nil, verification.allowedFailures.isEmpty else {
            return
        }
        context.store(session, for: key)
    }
}

// MARK: - Moving bytes

extension TLSEndpoint {
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard try beginReading() else { return .ended }
        var count = 0
        let result = buffer.withUnsafeMutableBytes { SSL_read_ex(ssl, $0.baseAddress, $0.count, &count) }
        return try outcome(of: result, count)
    }

    func peek() throws(StreamError) -> Attempt {
        guard try beginReading() else { return .ended }
        var byte: UInt8 = 0
        var count = 0
        let result = SSL_peek_ex(ssl, &byte, 1, &count)
        // Only after a success: nothing may come between a failure and SSL_get_error.
        if result == 1 { count = max(1, Int(SSL_pending(ssl))) }
        return try outcome(of: result, count)
    }

    func write(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if hasFinished { return .ended }
        try checkOpen()
        if let interest = try flush() { return .wouldBlock(interest) }
        OpenSSLErrors.clear()
        lower.beginCall()
        var count = 0
        let result = bytes.withUnsafeBytes { SSL_write_ex(ssl, $0.baseAddress, $0.count, &count) }
        if let error = lower.writeFailure { throw error }
        if result == 1 { return .moved(count) }
        guard wantsMore(result) else { throw fail(diagnose(isHandshake: false)) }
        return .wouldBlock(try interest(inHandshake: false))
    }

    func writability() throws(StreamError) -> Attempt {
        if hasFinished { return .ended }
        try checkOpen()
        if let interest = try flush() { return .wouldBlock(interest) }
        return try lower.transport.writability()
    }

    /// Sends what remains of earlier writes. Returns the interest to wait for if the lower transport does not take all
    /// of it.
    func flush() throws(StreamError) -> Interest? {
        if let error = lower.writeFailure { throw error }
        return lower.hasUnsent ? try lower.flush() : nil
    }

    /// Sends close_notify.
    func finish() throws(StreamError) -> Attempt {
        if !hasFinished {
            try checkOpen()
            if let interest = try flush() { return .wouldBlock(interest) }
            hasFinished = true
            OpenSSLErrors.clear()
            // 0 means that the peer's close_notify has not arrived, which does not matter here.
            if SSL_shutdown(ssl) < 0 { throw fail(diagnose(isHandshake: false)) }
            // OpenSSL answers a peer's request for new keys (RFC 8446 §4.6.3) even after close_notify.
            lower.isFinished = true
        }
        if let interest = try flush() { return .wouldBlock(interest) }
        return .ended
    }

    /// Throws unless both sides have sent close_notify and none of the bytes after it was read.
    func checkEnded() throws(StreamError) {
        try checkOpen()
        guard returnsToPlain else { throw StreamError(.badConfiguration, .doesNotReturnToPlain) }
        // An end that `allowsTruncation` accepted is not a close_notify.
        guard hasFinished, hasReadEnd, !lower.hasUnsent, SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 else {
            throw StreamError(posix: EBUSY, .notAtEndOfTLS)
        }
    }

    /// Sends close_notify if that is possible without waiting.
    func close() {
        guard case .open = phase, !hasFinished else { return }
        hasFinished = true
        guard (try? flush()) == .some(nil) else { return }
        OpenSSLErrors.clear()
        SSL_shutdown(ssl)
        OpenSSLErrors.clear()
        _ = try? flush()
    }

    private func checkOpen() throws(StreamError) {
        switch phase {
        case .open: return
        case .handshake: throw .notOpen
        case .failed(let error): throw error
        }
    }

    /// Prepares a call of OpenSSL. Returns false if the end has been read.
    private func beginReading() throws(StreamError) -> Bool {
        if hasReadEnd { return false }
        try checkOpen()
        // A caller that only reads may wait for the answer to bytes that are still unsent here. If sending fails, the
        // writer reports it.
        if lower.hasUnsent { _ = try? lower.flush() }
        OpenSSLErrors.clear()
        lower.beginCall()
        return true
    }

    /// What follows from the result of `SSL_read_ex` or `SSL_peek_ex`. `count` is the number of bytes after a success.
    private func outcome(of result: CInt, _ count: Int) throws(StreamError) -> Attempt {
        if result == 1 {
            lower.received = 0
            return .moved(count)
        }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_ZERO_RETURN:
            hasReadEnd = true
            return .ended
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            if lower.isEnded, allowsTruncation {
                hasReadEnd = true
                return .ended
            }
            return .wouldBlock(try interest(inHandshake: false))
        default:
            throw fail(diagnose(isHandshake: false))
        }
    }

    private func wantsMore(_ result: CInt) -> Bool {
        let error = SSL_get_error(ssl, result)
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE
    }

    /// Returns what to wait for when OpenSSL wants to be called again. Throws if waiting would be in vain.
    private func interest(inHandshake: Bool) throws(StreamError) -> Interest {
        if let error = lower.readFailure { throw inHandshake ? fail(error) : error }
        if lower.isEnded {
            guard inHandshake else { throw StreamError(.closedWithoutNotify, .truncated(peer.hostAndPort)) }
            throw fail(StreamError(.closedAbruptly, .closedInHandshake(peer.hostAndPort)))
        }
        if inHandshake, let error = lower.writeFailure { throw fail(error) }
        if lower.received > TLSEndpoint.maximumOverhead {
            throw fail(StreamError(.protocolViolation, .onlyOverhead(peer.hostAndPort, bytes: lower.received)))
        }
        if SSL_want(ssl) == SSL_WRITING { return lower.writeInterest }
        if lower.isBudgetSpent {
            // The readiness edge of the bytes that are still below has been consumed.
            lower.transport.waitPoint.signalNextTurn(.readable)
            return .readable
        }
        return lower.hasUnsent ? lower.readInterest.union(lower.writeInterest) : lower.readInterest
    }

    private func diagnose(isHandshake: Bool) -> StreamError {
        let errors = OpenSSLErrors.take()
        if errors.alert == nil, let error = verification.failure { return error }
        return TLSDiagnosis(
            errors: errors, peer: peer, configuration: context.configuration,
            beginning: isHandshake ? lower.readBeginning() : [], isHandshake: isHandshake
        ).error
    }

    private func fail(_ error: StreamError) -> StreamError {
        // This may be an alert that tells the peer the reason. It is tried only once.
        if lower.hasUnsent { _ = try? lower.flush() }
        phase = .failed(error)
        return error
    }
}

// MARK: - Negotiated parameters

extension TLSEndpoint {
    /// Nil before the handshake is complete.
    var information: TLSInformation? {
        if let cachedInformation { return cachedInformation }
        guard case .open = phase, let version = TLSVersion(rawValue: Int(SSL_version(ssl))) else { return nil }
        var start: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        SSL_get0_alpn_selected(ssl, &start, &count)
        let chosen = UnsafeBufferPointer(start: start, count: Int(count))
        let serverName = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
        let found = TLSInformation(
            version: version,
            cipher: cipher,
            applicationProtocol: chosen.isEmpty ? nil : String(decoding: chosen, as: UTF8.self),
            serverName: serverName ?? peer.indicatedName,
            peerName: peer.subject?.text,
            isResumed: SSL_session_reused(ssl) == 1,
            peerCertificates: peerCertificates,
            verification: context.configuration.verification,
            allowedFailures: verification.allowedFailures)
        cachedInformation = found
        return found
    }

    private var cipher: String {
        SSL_get_current_cipher(ssl).flatMap { SSL_CIPHER_standard_name($0) }.map { String(cString: $0) } ?? "unknown"
    }

    /// `TLS 1.3, TLS_AES_128_GCM_SHA256`. Every connection's report contains it, so it decodes no certificate.
    var summary: String {
        guard case .open = phase, let version = TLSVersion(rawValue: Int(SSL_version(ssl))) else { return "not open" }
        var summary = ""
        summary.reserveCapacity(48)
        summary += version.description
        summary += ", "
        summary += cipher
        if SSL_session_reused(ssl) == 1 { summary += ", resumed" }
        return summary
    }

    /// OpenSSL's chain includes a server's own certificate, but not a client's.
    private var peerCertificates: [Certificate] {
        guard let own = SSL_get0_peer_certificate(ssl) else { return [] }
        return X509Handle.values(of: SSL_get_peer_cert_chain(ssl), after: own)
    }
}

// MARK: - Finding the endpoint in callbacks

extension TLSEndpoint {
    /// The endpoint is alive in every callback, because OpenSSL calls back only from within its methods.
    static func of(_ ssl: OpaquePointer?) -> TLSEndpoint? {
        guard let ssl else { return nil }
        return SSL_get_ex_data(ssl, 0).map { Unmanaged<TLSEndpoint>.fromOpaque($0).takeUnretainedValue() }
    }

    static func of(store: OpaquePointer?) -> TLSEndpoint? {
        guard let store else { return nil }
        return of(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()).map { OpaquePointer($0) })
    }
}

// MARK: - OCSP stapling

extension TLSEndpoint {
    /// Requests an OCSP response, if the configuration says so.
    private func requestStatus() {
        guard context.verifiesServers, context.configuration.ocspStapling != .off else { return }
        netkit_SSL_request_ocsp(ssl)
    }

    /// Judges the OCSP response, and returns whether to continue. OpenSSL calls it on a client, after verifying the
    /// certificates.
    func verifyStatus() -> Bool {
        let configuration = context.configuration
        guard configuration.ocspStapling != .off, configuration.verification != .insecureNone else { return true }
        var bytes: UnsafePointer<UInt8>?
        let count = netkit_SSL_get_ocsp_response(ssl, &bytes)
        guard count > 0, let bytes else {
            return configuration.ocspStapling == .checked || refuse(.badCertificateStatus, .statusMissing(peer.name))
        }
        let response = OCSPResponse(der: Array(UnsafeBufferPointer(start: bytes, count: count)))
        let chain = SSL_get0_verified_chain(ssl)
        guard let own = chain.flatMap({ OPENSSL_sk_value($0, 0) }),
            let issuer = chain.flatMap({ OPENSSL_sk_value($0, 1) })
        else {
            // The certificate is trusted by itself: there is no issuer whose response would count.
            return configuration.ocspStapling == .checked || refuse(.badCertificateStatus, .statusMissing(peer.name))
        }
        switch response.verdict(
            about: OpaquePointer(own), issuer: OpaquePointer(issuer), chain: chain,
            store: SSL_CTX_get_cert_store(context.pointer),
            at: configuration.verificationTime ?? Int64(time(nil)))
        {
        case .good: return true
        case .revoked: return refuse(.certificateRevoked, .certificateRevoked(peer.name))
        case .unusable(let reason): return refuse(.badCertificateStatus, .statusUnusable(peer.name, reason))
        }
    }

    /// Aborts the handshake for a reason other than the certificates.
    private func refuse(_ failure: TLSFailure, _ sentence: Sentence) -> Bool {
        verification.reject(StreamError(failure, sentence))
        return false
    }

    /// Staples the configured OCSP response. OpenSSL calls it on a server whose client asked for one. Returns false if
    /// there is none to send.
    func stapleStatus() -> Bool {
        guard let response = context.configuration.ocspResponse, !response.isEmpty else { return false }
        return netkit_SSL_staple_ocsp(ssl, response, response.count) == 1
    }
}
