internal import COpenSSL
@_spi(Packages) internal import EventLoops
internal import Glibc

/// The owner of an `SSL_CTX`: the state that all connections of one configuration share, and the sessions that they can
/// resume.
///
/// Keeping the sessions here is a matter of security: any difference in trust, verification or identity makes another
/// configuration, hence another context, hence other sessions.
package final class TLSContext {
    let pointer: OpaquePointer
    package let configuration: TLSConfiguration
    /// False if the system's roots are requested and there are none.
    let hasRoots: Bool
    private let sessions = Locked(TLSSessionTable<TLSSession>())

    /// The most bytes that one read from below asks for: the size of OpenSSL's read buffer while it is in use.
    private static let readBuffer = 64 << 10
    /// The maximum number of sessions that a server keeps for TLS 1.2 clients without tickets.
    private static let serverSessions = 1024

    /// - Parameter readsTrust: false to read no files. No peer is trusted then.
    package init(_ configuration: TLSConfiguration, readsTrust: Bool = true) throws(StreamError) {
        OpenSSLSetup.perform()
        ERR_clear_error()
        let isServer = configuration.role == .server
        guard let context = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text))
        }
        var isMade = false
        defer { if !isMade { SSL_CTX_free(context) } }
        try TLSContext.setProtocol(configuration, of: context)
        hasRoots = readsTrust ? try TLSContext.loadTrust(configuration, into: context) : false
        try TLSContext.useIdentity(configuration, of: context)
        TLSContext.setCallbacks(configuration, of: context)
        isMade = true
        pointer = context
        self.configuration = configuration
        try setApplicationProtocols()
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    /// Finds the mistakes of a configuration without reading files.
    ///
    /// - Throws: ``TLSFailure/badConfiguration`` for a configuration that cannot work with any peer.
    package static func check(_ configuration: TLSConfiguration) throws(StreamError) {
        _ = try TLSContext(configuration, readsTrust: false)
    }

    // MARK: Sessions

    package func store(_ session: TLSSession, for key: TLSSessionTable<TLSSession>.Key) {
        guard session.isResumable, session.size <= TLSSessionTable<TLSSession>.maximumSize else { return }
        sessions.withLock {
            $0.insert(
                session, isSingleUse: session.isSingleUse && !key.isShared, lifetime: session.lifetime, for: key,
                now: Int64(time(nil)))
        }
    }

    func takeSession(for key: TLSSessionTable<TLSSession>.Key) -> TLSSession? {
        let session = sessions.withLock { $0.take(for: key, now: Int64(time(nil))) }
        guard let session, session.isResumable else { return nil }
        return key.isShared ? session.copy() : session
    }

    /// Whether this is a client that verifies the server's certificates.
    var verifiesServers: Bool { configuration.role == .client && configuration.verification != .insecureNone }

    /// The number of sessions that can be resumed, for tests.
    var sessionCount: Int { sessions.withLock { $0.count } }
}

// OpenSSL allows any number of threads to use a context that is set up, and init sets it up. OpenSSL locks the trust
// store and the server's sessions inside it.
extension TLSContext: @unchecked Sendable {}

// MARK: - Setup

extension TLSContext {
    private static func setProtocol(_ configuration: TLSConfiguration, of context: OpaquePointer) throws(StreamError) {
        guard configuration.minimumVersion <= configuration.maximumVersion else {
            throw StreamError(.badConfiguration, .noVersionLeft())
        }
        guard netkit_SSL_CTX_set_min_proto_version(context, CInt(configuration.minimumVersion.rawValue)) == 1,
            netkit_SSL_CTX_set_max_proto_version(context, CInt(configuration.maximumVersion.rawValue)) == 1
        else { throw StreamError(.badConfiguration, .internalFailure(OpenSSLErrors.take().text)) }
        SSL_CTX_set_options(context, netkit_SSL_OP_NO_RENEGOTIATION | netkit_SSL_OP_NO_COMPRESSION)
        // One record per write, from wherever the caller's bytes are. No 80 KiB of buffers held by an idle connection.
        // Exactly the given certificates are sent, without others that OpenSSL finds among the trusted ones.
        netkit_SSL_CTX_set_mode(
            context,
            Int(
                SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
                    | SSL_MODE_NO_AUTO_CHAIN))
        // Fewer system calls: one read takes a record's header and body, and the records after it.
        netkit_SSL_CTX_set_read_ahead(context, 1)
        SSL_CTX_set_default_read_buffer_len(context, readBuffer)
        if let list = configuration.cipherList, SSL_CTX_set_cipher_list(context, list) != 1 {
            ERR_clear_error()
            throw StreamError(.badConfiguration, .badCiphers(list))
        }
        if let suites = configuration.cipherSuites, SSL_CTX_set_ciphersuites(context, suites) != 1 {
            ERR_clear_error()
            throw StreamError(.badConfiguration, .badCiphers(suites))
        }
    }

    private static func loadTrust(
        _ configuration: TLSConfiguration, into context: OpaquePointer
    ) throws(StreamError) -> Bool {
        guard configuration.needsTrust, let store = SSL_CTX_get_cert_store(context) else { return true }
        // A certificate that the user names is trusted, whether or not it is a root.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        if let time = configuration.verificationTime, let parameters = SSL_CTX_get0_param(context) {
            X509_VERIFY_PARAM_set_time(parameters, time_t(time))
            // OpenSSL verifies the signer of an OCSP response with the store's own parameters.
            X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(SSL_CTX_get_cert_store(context)), time_t(time))
        }
        let trust = configuration.trust
        for root in trust.roots {
            try add(root, from: root.description, to: store, of: context, configuration.role)
        }
        for path in trust.files {
            for root in try Certificate.all(file: path) {
                try add(root, from: path, to: store, of: context, configuration.role)
            }
        }
        for path in trust.directories {
            guard FileStamp(path)?.isDirectory == true, X509_STORE_load_path(store, path) == 1 else {
                ERR_clear_error()
                throw StreamError(.badConfiguration, .rootsUnreadable(path, reason: "it is not a directory"))
            }
        }
        for path in trust.revocationLists {
            var bytes = try SecretFile.read(path)
            defer { SecretFile.wipe(&bytes) }
            guard RevocationList.add(bytes, to: store) > 0 else {
                throw StreamError(.badConfiguration, .revocationListUnreadable(path))
            }
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL))
        }
        return trust.includesSystemRoots ? try SystemRoots.load(into: store) : true
    }

    private static func add(
        _ root: Certificate, from source: String, to store: OpaquePointer, of context: OpaquePointer,
        _ role: TLSConfiguration.Role
    ) throws(StreamError) {
        let isAdded = X509Handle(der: root.der)?.withPointer { pointer in
            // A server tells its clients which authorities it accepts (RFC 8446 §4.2.4).
            if role == .server { SSL_CTX_add_client_CA(context, pointer) }
            return X509_STORE_add_cert(store, pointer) == 1
        }
        if isAdded == true { return }
        throw StreamError(.badConfiguration, .rootsUnreadable(source, reason: OpenSSLErrors.take().text))
    }

    private static func useIdentity(_ configuration: TLSConfiguration, of context: OpaquePointer) throws(StreamError) {
        guard let identity = configuration.identity else {
            if configuration.role == .server { throw StreamError(.badConfiguration, .serverWithoutIdentity()) }
            return
        }
        let handles = identity.certificates.compactMap { X509Handle(der: $0.der) }
        let isOwn = handles.first?.withPointer { SSL_CTX_use_certificate(context, $0) == 1 } == true
        guard isOwn, identity.key.withPointer({ SSL_CTX_use_PrivateKey(context, $0) == 1 }),
            handles.dropFirst().allSatisfy({ other in
                other.withPointer { netkit_SSL_CTX_add1_chain_cert(context, $0) == 1 }
            })
        else {
            throw StreamError(
                .badConfiguration, .badCertificate(identity.description, reason: OpenSSLErrors.take().text))
        }
    }

    private static func setCallbacks(_ configuration: TLSConfiguration, of context: OpaquePointer) {
        var mode = SSL_VERIFY_NONE
        switch (configuration.role, configuration.clientAuthentication) {
        case (.client, _), (.server, .requested): mode = SSL_VERIFY_PEER
        case (.server, .required): mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
        case (.server, .off): break
        }
        SSL_CTX_set_verify(context, mode) { accepted, store in
            TLSEndpoint.of(store: store)?.judge(isAccepted: accepted == 1, store) == true ? 1 : 0
        }
        SSL_CTX_set_cert_verify_callback(
            context,
            { store, _ in
                TLSEndpoint.of(store: store)?.verifyPeer(store) == true ? 1 : 0
            }, nil)
        switch configuration.role {
        case .client:
            if configuration.ocspStapling != .off {
                netkit_SSL_CTX_set_status_callback(context) { ssl, _ in
                    TLSEndpoint.of(ssl)?.verifyStatus() == true ? 1 : 0
                }
            }
        case .server:
            if configuration.ocspResponse != nil {
                netkit_SSL_CTX_set_status_callback(context) { ssl, _ in
                    TLSEndpoint.of(ssl)?.stapleStatus() == true ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK
                }
            }
        }
        setSessionCache(configuration, of: context)
        if configuration.keyLog != nil {
            SSL_CTX_set_keylog_callback(context) { ssl, line in
                guard let line else { return }
                TLSEndpoint.of(ssl)?.context.configuration.keyLog?.write(String(cString: line))
            }
        }
    }

    /// Says which sessions can be resumed. A client's endpoints keep theirs; a server's context keeps those that are small.
    private static func setSessionCache(_ configuration: TLSConfiguration, of context: OpaquePointer) {
        if !configuration.resumesSessions {
            netkit_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
            SSL_CTX_set_options(context, netkit_SSL_OP_NO_TICKET)
            if configuration.role == .server { SSL_CTX_set_num_tickets(context, 0) }
        } else if configuration.role == .client {
            netkit_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
            SSL_CTX_sess_set_new_cb(context) { ssl, session in
                guard let session, let endpoint = TLSEndpoint.of(ssl) else { return 0 }
                endpoint.keep(TLSSession(owning: session))
                return 1
            }
        } else {
            netkit_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_SERVER))
            netkit_SSL_CTX_sess_set_cache_size(context, serverSessions)
            // A session keeps the client's certificate, which may be large.
            SSL_CTX_sess_set_new_cb(context) { ssl, session in
                guard let ssl, let session, TLSSession.size(of: session) > TLSSessionTable<TLSSession>.maximumSize
                else {
                    return 0
                }
                SSL_CTX_remove_session(SSL_get_SSL_CTX(ssl), session)
                return 0
            }
            // Required where clients are verified. Each context has keys and sessions of its own, so any value will do.
            let name = Array("StreamKit".utf8)
            SSL_CTX_set_session_id_context(context, name, CUnsignedInt(name.count))
        }
    }

    private func setApplicationProtocols() throws(StreamError) {
        var list: [UInt8] = []
        for name in configuration.applicationProtocols {
            guard (1...255).contains(name.utf8.count), list.count + name.utf8.count < 65535 else {
                throw StreamError(.badConfiguration, .badProtocols())
            }
            list.append(UInt8(name.utf8.count))
            list += name.utf8
        }
        if list.isEmpty { return }
        switch configuration.role {
        case .client:
            // Unlike its siblings, this function returns 0 for success.
            guard SSL_CTX_set_alpn_protos(pointer, list, CUnsignedInt(list.count)) == 0 else {
                throw StreamError(.internalFailure, .internalFailure(OpenSSLErrors.take().text))
            }
        case .server:
            SSL_CTX_set_alpn_select_cb(
                pointer,
                { ssl, chosen, chosenCount, offered, offeredCount, _ in
                    guard let endpoint = TLSEndpoint.of(ssl), let chosen, let chosenCount, let offered else {
                        return SSL_TLSEXT_ERR_ALERT_FATAL
                    }
                    let offer = UnsafeBufferPointer(start: offered, count: Int(offeredCount))
                    guard let range = endpoint.context.choose(from: offer) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                    chosen.pointee = offered + range.lowerBound
                    chosenCount.pointee = UInt8(range.count)
                    return SSL_TLSEXT_ERR_OK
                }, nil)
        }
    }

    /// The position of the protocol that both sides support and the server prefers (RFC 7301 §3.2).
    private func choose(from offer: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        for name in configuration.applicationProtocols {
            var position = 0
            while position < offer.count {
                let end = position + 1 + Int(offer[position])
                guard end <= offer.count else { return nil }
                if offer[(position + 1)..<end].elementsEqual(name.utf8) { return (position + 1)..<end }
                position = end
            }
        }
        return nil
    }
}

/// The contexts in use, one for each distinct configuration.
///
/// Making a context reads the trust store. Doing that for each connection would add half to the cost of a handshake.
///
/// The files of a trust store are examined when a context is requested whose files were examined more than a second ago. That may
/// block, as reading them may, so ``existing(for:at:)``, which runs on event loops, leaves it to ``context(for:)``.
package final class TLSContextCache: Sendable {
    private final class Entry {
        /// The configuration, without its settings for single connections.
        let configuration: TLSConfiguration
        /// The state of the files that the context was made of.
        let files: [FileStamp?]
        let context: TLSContext
        /// The configuration of the last request. Most connections have exactly this one, and then no other need be made.
        var latest: TLSConfiguration
        /// When the files had this state.
        var examined: Moment

        init(
            _ configuration: TLSConfiguration, _ files: [FileStamp?], _ context: TLSContext, latest: TLSConfiguration,
            examined: Moment
        ) {
            self.configuration = configuration
            self.files = files
            self.context = context
            self.latest = latest
            self.examined = examined
        }

        func isCurrent(at now: Moment) -> Bool {
            !configuration.readsFiles || now < examined + TLSContextCache.examinationInterval
        }
    }

    /// The cache of this process, for connections.
    package static let shared = TLSContextCache()

    /// The contexts of verifications without a connection. Their certificates of authorities are often used once, and must not
    /// push out the contexts of connections.
    package static let verifications = TLSContextCache(capacity: 4)

    /// How long a change of the files may remain unnoticed.
    package static let examinationInterval: Duration = .seconds(1)

    /// The maximum number of contexts kept. The least recently used one is dropped first; connections keep theirs
    /// alive.
    package let capacity: Int

    /// The most recently used context comes first. It nearly always matches, and comparing two configurations costs a fifth of
    /// hashing one.
    private let entries = Locked<[Entry]>([])

    /// Called before files are examined and before a context is made, on the thread that does it, for tests.
    package let observers = Locked<[@Sendable (Event, TLSConfiguration) -> Void]>([])

    /// What ``observers`` are notified of.
    package enum Event: Hashable { case examines, makes }

    package init(capacity: Int = 32) {
        self.capacity = max(1, capacity)
    }

    /// Returns the context for a configuration, and makes it if there is none. Examines and perhaps reads files, which may block.
    package func context(for configuration: TLSConfiguration) throws(StreamError) -> TLSContext {
        let common = configuration.withoutConnectionSettings
        let now = Moment.now
        var files: [FileStamp?] = []
        if common.readsFiles {
            notify(.examines, common)
            files = common.trust.fileStamps()
        }
        let existing = entries.withLock { entries in
            TLSContextCache.use(&entries, for: configuration) { entry in
                guard entry.configuration == common, entry.files == files else { return false }
                entry.examined = max(entry.examined, now)
                return true
            }
        }
        if let existing { return existing }
        // Made without the lock, because it reads files. If two are made at once, the first one to arrive is used by
        // both, so that sessions are shared.
        notify(.makes, common)
        let made = try TLSContext(common)
        return entries.withLock { entries in
            let other = TLSContextCache.use(&entries, for: configuration) { entry in
                entry.configuration == common && entry.files == files
            }
            if let other { return other }
            // The files of an earlier context have changed.
            entries.removeAll { $0.configuration == common }
            if entries.count == capacity { entries.removeLast() }
            entries.insert(Entry(common, files, made, latest: configuration, examined: now), at: 0)
            return made
        }
    }

    /// Returns the context for a configuration; nil if there is none, or its files have to be examined. Never blocks.
    package func existing(for configuration: TLSConfiguration, at now: Moment = .now) -> TLSContext? {
        entries.withLock { entries in
            if let first = entries.first, first.latest == configuration {
                return first.isCurrent(at: now) ? first.context : nil
            }
            let common = configuration.withoutConnectionSettings
            return TLSContextCache.use(&entries, for: configuration) { entry in
                entry.configuration == common && entry.isCurrent(at: now)
            }
        }
    }

    /// Lets the next request of each context examine its files, for tests.
    package func expire() {
        entries.withLock { for entry in $0 { entry.examined = .now - TLSContextCache.examinationInterval } }
    }

    private func notify(_ event: Event, _ configuration: TLSConfiguration) {
        for observer in observers.withLock({ $0 }) { observer(event, configuration) }
    }

    private static func use(
        _ entries: inout [Entry], for configuration: TLSConfiguration, where matches: (Entry) -> Bool
    ) -> TLSContext? {
        guard let index = entries.firstIndex(where: matches) else { return nil }
        if index > 0 { entries.insert(entries.remove(at: index), at: 0) }
        entries[0].latest = configuration
        return entries[0].context
    }
}

extension TLSConfiguration {
    /// Whether the peer's certificate is verified, which requires trusted ones.
    fileprivate var needsTrust: Bool {
        switch role {
        case .client: verification != .insecureNone
        case .server: clientAuthentication != .off
        }
    }

    /// Whether its context is made of files.
    package var readsFiles: Bool {
        needsTrust
            && (trust.includesSystemRoots
                || ![trust.files, trust.directories, trust.revocationLists].allSatisfy(\.isEmpty))
    }

    /// The settings that a context depends on.
    fileprivate var withoutConnectionSettings: TLSConfiguration {
        var common = self
        common.peerName = nil
        common.serverNameIndication = .peerName
        common.sessionGroup = nil
        common.allowsTruncation = false
        common.returnsToPlain = false
        return common
    }
}

extension TLSTrust {
    /// The present state of the files that are named.
    fileprivate func fileStamps() -> [FileStamp?] {
        var stamps = includesSystemRoots ? SystemRoots.stamps() : []
        for path in files + directories + revocationLists { stamps.append(FileStamp(path)) }
        return stamps
    }
}
