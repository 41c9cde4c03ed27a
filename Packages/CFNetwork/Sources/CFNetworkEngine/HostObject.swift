internal import CFNetworkC
internal import CFNetworkC.Runtime
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import HostResolver
internal import StreamKit

/// The state of a CFHost.
///
/// Theory of operation. The object owns this state, which refers to it weakly: a lookup that ends while another thread releases the
/// last reference is dropped, and the lookup itself ends with the state.
final class HostState: ObjectState, @unchecked Sendable {
    // The lock protects the client. The object is set once, before the program has it; everything else is thread-safe.
    static let typeID = cfn_class_register("CFHost")

    /// The function that is called at the end of a lookup, and its pointer.
    struct Client: Sendable {
        let callback: CFHostClientCallBack
        let info: ClientInfo
    }

    let lookup: HostLookup
    private let client = Locked<Client?>(nil)
    private weak var object: CFHost?
    private let addresses = KeptObject<[SocketAddress], CFArray>()
    private let names = KeptObject<[String], CFArray>()
    private let reachability = KeptObject<ReachabilityFlags, CFData>()

    init(_ lookup: HostLookup) { self.lookup = lookup }

    override var summary: String {
        if let name = lookup.names.value?.first { return name }
        return lookup.addresses.value?.first?.ipAddress?.description ?? ""
    }

    /// Creates the CFHost of a lookup.
    static func makeHost(_ allocator: CFAllocator?, _ lookup: HostLookup) -> Unmanaged<CFHost>? {
        let state = HostState(lookup)
        let object: Unmanaged<CFHost>? = state.makeObject(allocator, typeID)
        state.object = object?.takeUnretainedValue()
        return object
    }

    /// Whether lookups end with a call of the client.
    var hasClient: Bool { client.withLock { $0 != nil } }

    func setClient(_ new: Client?) {
        let former = client.withLock { client in
            let former = client
            client = new
            return former
        }
        // The former pointer is released here, outside the lock: its function may use the host.
        withExtendedLifetime(former) {}
        guard new != nil else { return lookup.setClient(nil) }
        lookup.setClient { [weak self] _, kind, error in self?.report(kind, error) }
    }

    private func report(_ kind: HostLookup.Kind, _ error: ResolverError?) {
        guard let object, let client = client.withLock({ $0 }),
            let info = CFHostInfoType(rawValue: Int32(kind.rawValue))
        else { return }
        var failure = error?.streamError ?? CFStreamError()
        client.callback(object, info, &failure, client.info.pointer)
    }

    func addressing(_ hasBeenResolved: UnsafeMutablePointer<Bool>?) -> Unmanaged<CFArray>? {
        let fetched = lookup.addresses
        hasBeenResolved?.pointee = fetched.hasBeenResolved
        return addresses.object(for: fetched.value) { cfArray($0.map { cfData($0.sockaddrBytes) }) }
    }

    func nameList(_ hasBeenResolved: UnsafeMutablePointer<Bool>?) -> Unmanaged<CFArray>? {
        let fetched = lookup.names
        hasBeenResolved?.pointee = fetched.hasBeenResolved
        return names.object(for: fetched.value) { cfArray($0.map { cfString($0) }) }
    }

    func reachabilityData(_ hasBeenResolved: UnsafeMutablePointer<Bool>?) -> Unmanaged<CFData>? {
        let fetched = lookup.reachability
        hasBeenResolved?.pointee = fetched.hasBeenResolved
        return reachability.object(for: fetched.value) { flags in
            cfData(withUnsafeBytes(of: flags.rawValue) { Array($0) })
        }
    }
}

extension ResolverError {
    /// The error in the form of older functions.
    var streamError: CFStreamError {
        CFStreamError(StreamErrorDomain(rawValue: domain.rawValue), code: number)
    }
}
