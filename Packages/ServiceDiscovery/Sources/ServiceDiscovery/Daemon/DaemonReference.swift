internal import CServiceDaemon
internal import DNSWire
@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver

/// Owns one `DNSServiceRef`: one operation of the daemon.
///
/// Any thread may release it or read its replies, because the library is called only with a lock held. The library
/// calls back only from within ``replies()``.
final class DaemonReference: Sendable {
    /// Stores the replies that the library's callbacks deliver.
    private final class Inbox: Sendable {
        let replies = Locked<[DaemonReply]>([])

        static func put(_ reply: DaemonReply, _ context: UnsafeMutableRawPointer?) {
            guard let context else { return }
            Unmanaged<Inbox>.fromOpaque(context).takeUnretainedValue().replies.withLock { $0.append(reply) }
        }
    }

    private let library: DaemonLibrary
    private let inbox: Inbox
    // The library is called only with the lock held, and the pointer exists only here.
    private let pointer: Locked<OpaquePointer?>
    /// Readable when replies are available.
    let descriptor: CInt

    /// Begins a query. Blocks until the daemon accepts it.
    init(
        querying key: RecordKey, interface: UInt32, library: DaemonLibrary
    ) throws(ServiceDiscoveryError) {
        let inbox = Inbox()
        let pointer = try Self.begin(library, inbox) { pointer, context in
            library.functions.query_record(
                pointer, 0, interface, key.name.description, key.type.rawValue, 1,
                { _, flags, interface, error, _, type, _, length, data, _, context in
                    let bytes = UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : Int(length))
                    if error != 0 {
                        Inbox.put(.failed(DaemonNumber.error(error)), context)
                    } else if let data = DNSRecordData(wire: Array(bytes), type: DNSRecordType(rawValue: type)) {
                        let isAdded = flags & DaemonNumber.add != 0
                        Inbox.put(DaemonReference.reply(data, interface, isAdded: isAdded), context)
                    }
                }, context)
        }
        descriptor = library.functions.descriptor(pointer)
        self.pointer = Locked(pointer)
        self.library = library
        self.inbox = inbox
    }

    private static func reply(_ data: DNSRecordData, _ interface: UInt32, isAdded: Bool) -> DaemonReply {
        guard isAdded else { return .removed(data, interface: interface) }
        do throws(ServiceDiscoveryError) {
            return .added(data, interface: interface, named: try InterfaceName.of(interface))
        } catch {
            return .failed(error)
        }
    }

    /// Begins a publication. Blocks until the daemon accepts it.
    init(
        publishing advertisement: ServiceAdvertisement, name: String, interface: UInt32, library: DaemonLibrary
    ) throws(ServiceDiscoveryError) {
        let flags = advertisement.renamesOnConflict ? 0 : DaemonNumber.noAutoRename
        // At most `TXTRecord.maximumSize` bytes, so the count fits into a UInt16.
        let text = advertisement.record.wireForm
        let inbox = Inbox()
        let pointer = try Self.begin(library, inbox) { pointer, context in
            library.functions.begin_registration(
                pointer, flags, interface, name, advertisement.type.description, advertisement.domain?.description,
                advertisement.host?.description, advertisement.port.bigEndian, UInt16(text.count), text,
                { _, _, error, name, _, _, context in
                    Inbox.put(
                        error == 0
                            ? .registered(name: name.map { String(cString: $0) } ?? "")
                            : .failed(DaemonNumber.error(error)), context)
                }, context)
        }
        descriptor = library.functions.descriptor(pointer)
        self.pointer = Locked(pointer)
        self.library = library
        self.inbox = inbox
    }

    deinit { end() }

    /// Replaces the published TXT record; returns the daemon's error number, or 0 if there was no error.
    func update(_ record: TXTRecord) -> Int32 {
        let text = record.wireForm
        return pointer.withLock { pointer in
            guard let pointer else { return 0 }
            return library.functions.update_record(pointer, nil, 0, UInt16(text.count), text, 0)
        }
    }

    /// Reads the daemon's replies without waiting.
    ///
    /// - Returns: the replies in one message (which may be empty), and whether there was a message: then more may
    /// follow.
    func replies() -> (replies: [DaemonReply], mayHaveMore: Bool) {
        let error = pointer.withLock { pointer -> Int32? in
            // `DNSServiceProcessResult` would wait. While the pointer exists, the descriptor is valid.
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard let pointer, poll(&entry, 1, 0) > 0 else { return nil }
            return library.functions.process_result(pointer)
        }
        let failures = [error].compactMap { $0 }.filter { $0 != 0 }.map { DaemonReply.failed(DaemonNumber.error($0)) }
        return inbox.replies.withLock { replies in
            defer { replies = [] }
            return (replies + failures, error != nil)
        }
    }

    /// Ends the operation and withdraws what it published. Idempotent.
    func end() {
        pointer.withLock { pointer in
            if let old = pointer.take() { library.functions.deallocate(old) }
        }
    }

    private static func begin(
        _ library: DaemonLibrary, _ inbox: Inbox,
        _ call: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32
    ) throws(ServiceDiscoveryError) -> OpaquePointer {
        var pointer: OpaquePointer?
        // The inbox lives as long as this object, which ends the operation first.
        let error = call(&pointer, Unmanaged.passUnretained(inbox).toOpaque())
        guard error == 0, let pointer else { throw DaemonNumber.error(error) }
        return pointer
    }
}

/// A reply of the daemon to one operation.
enum DaemonReply: Sendable {
    /// A record was added on the interface with this index and this name.
    case added(DNSRecordData, interface: UInt32, named: String?)
    /// A record was removed.
    case removed(DNSRecordData, interface: UInt32)
    /// The service is visible under this name.
    case registered(name: String)
    /// The operation has ended.
    case failed(ServiceDiscoveryError)

    var isFailure: Bool { if case .failed = self { true } else { false } }
}
