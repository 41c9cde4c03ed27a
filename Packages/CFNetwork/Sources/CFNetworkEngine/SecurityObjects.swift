// The objects of Security that properties of streams have. The module SecurityEngine has their functions.

internal import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import EventLoops
internal import Glibc
internal import HostResolver
package import StreamKit

/// A certificate: SecCertificate. Two are equal if their DER encodings are.
package final class CertificateContent: ObjectContent {
    package static let typeID = cfn_comparable_class_register("SecCertificate")

    package let certificate: Certificate

    private init(_ certificate: Certificate) { self.certificate = certificate }

    package var summary: String { certificate.summary }

    package func isEqual(to other: any ObjectContent) -> Bool {
        (other as? CertificateContent)?.certificate == certificate
    }

    package var hashCode: Int { certificate.hashValue }

    /// A retained object. Nil if the allocator has no memory.
    package static func make<Object: AnyObject>(
        _ certificate: Certificate, _ allocator: CFAllocator? = nil
    ) -> Unmanaged<Object>? {
        makeObject(allocator, typeID, CertificateContent(certificate))
    }

    /// A retained array of objects.
    package static func makeArray(_ certificates: [Certificate]) -> Unmanaged<CFArray> {
        cfArray(certificates.compactMap { make($0) as Unmanaged<CFTypeRef>? })
    }

    /// The certificate of an object; nil for another object.
    package static func certificate(of object: AnyObject) -> Certificate? {
        (content(of: object, typeID) as CertificateContent?)?.certificate
    }
}

/// A certificate with its private key, and with others of its chain: SecIdentity. Two are equal if their certificates are.
package final class IdentityContent: ObjectContent {
    package static let typeID = cfn_comparable_class_register("SecIdentity")

    package let identity: TLSIdentity

    private init(_ identity: TLSIdentity) { self.identity = identity }

    package var summary: String { identity.certificates.first?.summary ?? "" }

    package func isEqual(to other: any ObjectContent) -> Bool {
        (other as? IdentityContent)?.identity.certificates.first == identity.certificates.first
    }

    package var hashCode: Int { identity.certificates.first.hashValue }

    /// A retained object. Nil without memory.
    package static func make<Object: AnyObject>(_ identity: TLSIdentity) -> Unmanaged<Object>? {
        makeObject(nil, typeID, IdentityContent(identity))
    }

    /// The identity of an object; nil for another object.
    package static func identity(of object: AnyObject) -> TLSIdentity? {
        (content(of: object, typeID) as IdentityContent?)?.identity
    }
}

/// What a certificate must be valid for.
package enum TrustPolicy: Sendable, Hashable {
    /// A TLS server with a name; nil for any name. No certificate is valid for a text that is no name of a host.
    case server(String?)
    /// A TLS client, likewise.
    case client(String?)
    /// Any use.
    case any
}

/// A certificate to evaluate: SecTrust.
///
/// The evaluation is that of a TLS stream. It is kept until a setting changes or, if it is for the present time, until a certificate of a
/// chain expires; a failure for the present time is not used again. Two threads that evaluate at the same time may both do the work.
package final class TrustContent: ObjectContent {
    package static let typeID = cfn_class_register("SecTrust")

    /// What an evaluation depends on.
    package struct Settings: Sendable, Hashable {
        package var policies: [TrustPolicy]
        /// The certificates of the program at which a chain may end.
        package var anchors: [Certificate] = []
        /// Whether this machine's roots are excluded.
        package var isAnchoredOnly = false
        /// In seconds since 1970; nil for the present time.
        package var time: Int64?
    }

    /// The verified chain, or the reason of the failure.
    package typealias Verdict = Result<[Certificate], StreamError>

    /// The result of an evaluation, and when it may be used again.
    struct Evaluation {
        /// The chain for each policy. They differ if time passes, or the files with roots change, between two policies.
        let chains: Result<[[Certificate]], StreamError>
        /// Whether the verdict is for the present time, which passes.
        let isOfPresentTime: Bool

        /// Whether the verdict of success holds at a time. A failure says nothing about a later time.
        func holds(at time: Int64) -> Bool {
            guard isOfPresentTime else { return true }
            guard case .success(let chains) = chains else { return false }
            // For OpenSSL, a certificate is no longer valid at the end of its time.
            return chains.joined().allSatisfy { $0.notBefore <= time && time < $0.notAfter }
        }

        /// The chain is that for the last policy.
        var verdict: Verdict { chains.map { $0.last ?? [] } }
    }

    private struct State {
        var settings: Settings
        var evaluation: Evaluation?
    }

    package let certificates: [Certificate]
    private let state: Locked<State>

    private init(_ certificates: [Certificate], _ policies: [TrustPolicy]) {
        self.certificates = certificates
        state = Locked(State(settings: Settings(policies: policies)))
    }

    package var summary: String { certificates.first?.summary ?? "" }

    /// A retained object. Nil without memory.
    package static func make<Object: AnyObject>(
        _ certificates: [Certificate], _ policies: [TrustPolicy]
    ) -> Unmanaged<Object>? {
        makeObject(nil, typeID, TrustContent(certificates, policies))
    }

    /// Changes settings. The next evaluation is a new one.
    package func change(_ edit: (inout Settings) -> Void) {
        state.withLock { state in
            edit(&state.settings)
            state.evaluation = nil
        }
    }

    /// The verdict of the last evaluation, if it was made with the present settings. Nil for a success that does not hold any more.
    ///
    /// - Parameter now: the present time in seconds since 1970; nil for that of the system.
    package func lastVerdict(at now: Int64? = nil) -> Verdict? {
        guard let last = state.withLock({ $0.evaluation }) else { return nil }
        if case .success = last.chains, !last.holds(at: now ?? Int64(time(nil))) { return nil }
        return last.verdict
    }

    /// Evaluates the certificate, unless the last evaluation holds. Reads files with roots.
    ///
    /// - Parameter now: the present time in seconds since 1970; nil for that of the system.
    package func evaluate(at now: Int64? = nil) -> Verdict {
        let (settings, last) = state.withLock { ($0.settings, $0.evaluation) }
        if let last, last.holds(at: now ?? Int64(time(nil))) { return last.verdict }
        var dated = settings
        dated.time = settings.time ?? now
        let chains = Result { [dated] () throws(StreamError) in try Self.chains(of: certificates, dated) }
        let evaluation = Evaluation(chains: chains, isOfPresentTime: settings.time == nil)
        state.withLock { if $0.settings == settings { $0.evaluation = evaluation } }
        return evaluation.verdict
    }

    /// The chain for each policy, all of which must be met.
    ///
    /// - Throws: the gravest failure, and of those that are equally grave, the first policy's.
    static func chains(
        of certificates: [Certificate], _ settings: Settings
    ) throws(StreamError) -> [[Certificate]] {
        var chains: [[Certificate]] = []
        var gravest: StreamError?
        for policy in settings.policies {
            do throws(StreamError) {
                chains.append(try chain(of: certificates, for: policy, settings))
            } catch {
                if gravest.map({ $0.trustGravity < error.trustGravity }) ?? true { gravest = error }
            }
        }
        if let gravest { throw gravest }
        return chains
    }

    private static func chain(
        of certificates: [Certificate], for policy: TrustPolicy, _ settings: Settings
    ) throws(StreamError) -> [Certificate] {
        var configuration = TLSConfiguration()
        configuration.trust = TLSTrust(includesSystemRoots: !settings.isAnchoredOnly, roots: settings.anchors)
        configuration.verificationTime = settings.time
        let (name, purpose): (String?, TLSConfiguration.CertificatePurpose) =
            switch policy {
            case .server(let name): (name, .server)
            case .client(let name): (name, .client)
            case .any: (nil, .any)
            }
        let isHostName = name.map { (try? HostName($0)) != nil } ?? true
        configuration.peerName = isHostName ? name : nil
        if configuration.peerName == nil { configuration.verification = .insecureNoNameCheck }
        let chain = try configuration.verifiedChain(of: certificates, for: purpose)
        if let name, !isHostName {
            throw StreamError(
                domain: .ssl, code: TLSFailure.hostNameMismatch.rawValue, sentence: .noHostName(name))
        }
        return chain
    }
}

/// What another name, time or set of roots can change about a failed evaluation.
package enum TrustGravity: Comparable {
    /// One of them may change the verdict.
    case recoverable
    /// None changes it: the certificate or its chain is defective or revoked.
    case fatal
    /// There is no verdict.
    case unknown
}

extension StreamError {
    package var trustGravity: TrustGravity {
        switch tlsFailure {
        case .certificateExpired, .certificateNotYetValid, .hostNameMismatch, .unknownRoot, .noRoot: .recoverable
        case .certificateRevoked, .invalidChain, .badCertificate: .fatal
        default: .unknown
        }
    }
}

extension Sentence {
    fileprivate static func noHostName(_ name: String) -> Sentence {
        Sentence(
            "cfnetwork.noHostName",
            "No certificate is for “%1”, which is not the name of a host. Correct the name of the policy.", name)
    }
}
