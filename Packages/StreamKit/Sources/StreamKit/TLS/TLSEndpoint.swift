internal import COpenSSL
internal import EventLoops
internal import Glibc

/// One side of a TLS connection: the owner of an `SSL`, and everything that is done with it. Knows no locks and no waiting.
///
/// Theory of operation. OpenSSL calls ``TLSLower`` for bytes, which never fails it (see there); so whenever OpenSSL wants
/// to be called again, the reason is found in `lower`: it would block, it ended, or it threw. All other failures of
/// OpenSSL's are for good, and every later call gives the same error.
///
/// A peer can send messages that carry no data (tickets, key updates, empty records) for as long as it likes, and OpenSSL
/// goes on reading them. ``mostOverhead`` bounds them in all, ``bytesPerTurn`` what one call takes of them.
final class TLSEndpoint {
    private enum Phase {
        case handshake
        case open
        case failed(StreamError)
    }

    /// Most bytes that may come without any data among them, be it the handshake or later.
    static let mostOverhead = 1 << 20

    /// Most bytes that one call takes from the transport below. A call that has reached it gives "would block" and is woken in the
    /// loop's next turn, so that neither the loop nor a thread that waits for the lock is held up by a peer that sends nothing but
    /// overhead. Enough for the largest record (RFC 5246 §6.2.3: 18,437 bytes) after a few tickets, so data is not delayed.
    static let bytesPerTurn = 20 << 10

    let context: TLSContext
    let peer: TLSPeer
    /// The pointer of ``TLSInformation`` and the channel bindings, too.
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

    init(
        _ configuration: borrowing TLSConfiguration, _ context: TLSContext, _ peer: TLSPeer, over lower: Engine
    ) throws(StreamError) {
        OpenSSLErrors.forget()
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
        try tellNames()
        requestStatus()
        if context.configuration.role == .client { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
    }

    deinit {
        SSL_free(ssl)
    }

    private func tellNames() throws(StreamError) {
        var isSet = true
        if let name = peer.indicatedName { isSet = netkit_SSL_set_tlsext_host_name(ssl, name) == 1 }
        if context.configuration.verification == .full, let parameters = SSL_get0_param(ssl) {
            X509_VERIFY_PARAM_set_hostflags(
                parameters, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            switch peer.subject {
            case .host(let name): isSet = isSet && X509_VERIFY_PARAM_set1_host(parameters, name, 0) == 1
            case .address(let text): isSet = isSet && X509_VERIFY_PARAM_set1_ip_asc(parameters, text) == 1
            case nil: break
            }
        }
        // Were this ignored, the name would go unchecked.
        guard isSet else { throw StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text)) }
    }
}

// MARK: - Opening

extension TLSEndpoint {
    /// One step of the handshake.
    func handshake() throws(StreamError) -> OpenAttempt {
        switch phase {
        case .open: return .opened
        case .failed(let error): throw error
        case .handshake: break
        }
        if !hasBegun {
            hasBegun = true
            // As late as possible: the newest ticket, and none is used up by a connection that never came about.
            if let key = peer.sessionKey, let session = context.takeSession(for: key) {
                _ = session.withPointer { SSL_set_session(ssl, $0) }
            }
        }
        if lower.hasUnsent, let interest = try flushForHandshake() { return .wouldBlock(interest) }
        OpenSSLErrors.forget()
        lower.beginTurn()
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
            // The peer may have said why before it went: that is the better error, so read on.
            return nil
        }
    }

    /// OpenSSL has judged already; this makes sure that it did.
    private func acceptPeer() throws(StreamError) {
        guard context.judgesServers else { return }
        guard SSL_get_verify_result(ssl) == Int(X509_V_OK), SSL_get0_peer_certificate(ssl) != nil else {
            throw fail(StreamError(.invalidChain, .badCertificate(peer.name, reason: "it was not verified")))
        }
    }

    /// Called by OpenSSL with the certificates of the peer.
    func verifyPeer(_ store: OpaquePointer?) -> Bool {
        store.map(verification.verify) ?? false
    }

    /// Called by OpenSSL for each certificate and each fault.
    func noteFinding(isAccepted: Bool, _ store: OpaquePointer?) -> Bool {
        if isAccepted { return true }
        return store.map(verification.goesOn(after:)) ?? false
    }

    /// Notes why the handshake is broken off, when it is not because of the certificates.
    func refusePeer(_ error: StreamError) {
        verification.refuse(error)
    }

    /// Called by OpenSSL with a session to resume later.
    func keep(_ session: TLSSession) {
        guard let key = peer.sessionKey, verification.failure == nil, verification.overlooked.isEmpty else { return }
        context.store(session, for: key)
    }
}

// MARK: - Moving bytes

extension TLSEndpoint {
    func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if let settled = try beginReading() { return settled }
        var count = 0
        let result = buffer.withUnsafeMutableBytes { SSL_read_ex(ssl, $0.baseAddress, $0.count, &count) }
        if result == 1 {
            lower.received = 0
            return .moved(count)
        }
        return try readingStopped(result)
    }

    func peek() throws(StreamError) -> Attempt {
        if let settled = try beginReading() { return settled }
        var byte: UInt8 = 0
        var count = 0
        let result = SSL_peek_ex(ssl, &byte, 1, &count)
        if result == 1 {
            lower.received = 0
            return .moved(max(1, Int(SSL_pending(ssl))))
        }
        return try readingStopped(result)
    }

    func write(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if hasFinished { return .ended }
        try checkOpen()
        if let interest = try flush() { return .wouldBlock(interest) }
        OpenSSLErrors.forget()
        lower.beginTurn()
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
        return try lower.engine.writability()
    }

    /// Sends what an earlier write took over and the lower transport did not; the interest to wait for if it still does not.
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
            OpenSSLErrors.forget()
            // 0 says that the peer's own farewell is missing, which is none of our business here.
            if SSL_shutdown(ssl) < 0 { throw fail(diagnose(isHandshake: false)) }
            // OpenSSL answers a peer that asks for new keys (RFC 8446 §4.6.3) even now.
            lower.isFinished = true
        }
        if let interest = try flush() { return .wouldBlock(interest) }
        return .ended
    }

    /// Throws unless both sides have said farewell, and nothing of what follows was read.
    func checkEnded() throws(StreamError) {
        try checkOpen()
        guard returnsToPlain else { throw StreamError(.badConfiguration, .doesNotReturnToPlain) }
        // An end that was allowed to be a truncation is nobody's farewell.
        guard hasFinished, hasReadEnd, !lower.hasUnsent, SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 else {
            throw StreamError(posix: EBUSY, .notAtEndOfTLS)
        }
    }

    /// Sends close_notify if that takes no waiting.
    func close() {
        guard case .open = phase, !hasFinished else { return }
        hasFinished = true
        guard (try? flush()) == .some(nil) else { return }
        OpenSSLErrors.forget()
        SSL_shutdown(ssl)
        OpenSSLErrors.forget()
        _ = try? flush()
    }

    private func checkOpen() throws(StreamError) {
        switch phase {
        case .open: return
        case .handshake: throw .notOpen
        case .failed(let error): throw error
        }
    }

    /// What is known before asking OpenSSL.
    private func beginReading() throws(StreamError) -> Attempt? {
        if hasReadEnd { return .ended }
        try checkOpen()
        // Somebody who only reads waits for an answer to what may still lie here. Failing is the writer's business.
        if lower.hasUnsent { _ = try? lower.flush() }
        OpenSSLErrors.forget()
        lower.beginTurn()
        return nil
    }

    private func readingStopped(_ result: CInt) throws(StreamError) -> Attempt {
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

    /// Why OpenSSL wants to be called again: what to wait for, or why that would be in vain.
    private func interest(inHandshake: Bool) throws(StreamError) -> Interest {
        if let error = lower.readFailure { throw inHandshake ? fail(error) : error }
        if lower.isEnded {
            guard inHandshake else { throw StreamError(.closedWithoutNotify, .truncated(peer.place)) }
            throw fail(StreamError(.closedAbruptly, .closedInHandshake(peer.place)))
        }
        if inHandshake, let error = lower.writeFailure { throw fail(error) }
        if lower.received > TLSEndpoint.mostOverhead {
            throw fail(StreamError(.protocolViolation, .onlyOverhead(peer.place, bytes: lower.received)))
        }
        if SSL_want(ssl) == SSL_WRITING { return lower.writeInterest }
        if lower.isTurnSpent {
            // The edge of what is still below has been used up.
            lower.engine.waitPoint.signalNextTurn(.readable)
            return .readable
        }
        return lower.hasUnsent ? lower.readInterest.union(lower.writeInterest) : lower.readInterest
    }

    private func diagnose(isHandshake: Bool) -> StreamError {
        let errors = OpenSSLErrors.take()
        if errors.alert == nil, let error = verification.failure { return error }
        return TLSDiagnosis(
            errors: errors, peer: peer, configuration: context.configuration, beginning: lower.beginning,
            isHandshake: isHandshake
        ).error
    }

    private func fail(_ error: StreamError) -> StreamError {
        // An alert that tells the peer why; it had its chance.
        if lower.hasUnsent { _ = try? lower.flush() }
        phase = .failed(error)
        return error
    }
}

// MARK: - What was agreed

extension TLSEndpoint {
    /// Nil before the handshake is over.
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
            isResumed: SSL_session_reused(ssl) == 1,
            peerCertificates: peerCertificates,
            verification: context.configuration.verification,
            overlooked: verification.overlooked)
        cachedInformation = found
        return found
    }

    private var cipher: String {
        SSL_get_current_cipher(ssl).flatMap { SSL_CIPHER_standard_name($0) }.map { String(cString: $0) } ?? "unknown"
    }

    /// `TLS 1.3, TLS_AES_128_GCM_SHA256`. Made for each connection's report, so it does not read any certificate.
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

    /// OpenSSL leaves a client's own certificate out of its chain, and a server's in.
    private var peerCertificates: [Certificate] {
        guard let own = SSL_get0_peer_certificate(ssl) else { return [] }
        return X509Handle.values(of: SSL_get_peer_cert_chain(ssl), after: own)
    }
}

// MARK: - Finding the endpoint in callbacks

extension TLSEndpoint {
    /// The endpoint is alive whenever OpenSSL calls back: it is in one of its methods.
    static func of(_ ssl: OpaquePointer?) -> TLSEndpoint? {
        guard let ssl else { return nil }
        return SSL_get_ex_data(ssl, 0).map { Unmanaged<TLSEndpoint>.fromOpaque($0).takeUnretainedValue() }
    }

    static func of(store: OpaquePointer?) -> TLSEndpoint? {
        guard let store else { return nil }
        return of(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()).map { OpaquePointer($0) })
    }
}
