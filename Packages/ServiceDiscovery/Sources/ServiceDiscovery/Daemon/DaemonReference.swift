internal import CServiceDaemon
internal import EventLoops
internal import Glibc
internal import HostResolver

/// Owns one `DNSServiceRef`: one operation of the daemon.
///
/// Any thread may let it go or take its replies: a lock is held whenever the library works on it. Replies come only from within
/// ``replies()``.
final class DaemonReference: Sendable {
    /// Where the library's callbacks put what they are told.
    private final class Inbox: Sendable {
        let replies = Locked<[DaemonReply]>([])

        static func put(_ reply: DaemonReply, _ context: UnsafeMutableRawPointer?) {
            guard let context else { return }
            Unmanaged<Inbox>.fromOpaque(context).takeUnretainedValue().replies.withLock { $0.append(reply) }
        }
    }

    private let library: DaemonLibrary
    private let inbox: Inbox
    // The library is called under the lock only, and nobody else has the pointer.
    private let pointer: Locked<OpaquePointer?>
    /// Readable when there are replies.
    let descriptor: CInt

    /// Begins to look for records. Waits for the daemon.
    init(
        asking key: RecordKey, interface: UInt32, library: DaemonLibrary
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
                        Inbox.put(.record(data, interface: interface, isAdded: isAdded), context)
                    }
                }, context)
        }
        descriptor = library.functions.descriptor(pointer)
        self.pointer = Locked(pointer)
        self.library = library
        self.inbox = inbox
    }

    /// Begins to publish. Waits for the daemon.
    init(
        publishing advertisement: ServiceAdvertisement, name: String, interface: UInt32, library: DaemonLibrary
    ) throws(ServiceDiscoveryError) {
        let flags = advertisement.renamesOnConflict ? 0 : DaemonNumber.noAutoRename
        // At most `TXTRecord.largestSize` bytes, so that their count is a UInt16.
        let text = advertisement.record.wireForm
        let inbox = Inbox()
        let pointer = try Self.begin(library, inbox) { pointer, context in
            library.functions.begin_registration(
                pointer, flags, interface, name, advertisement.type.description, advertisement.domain?.description,
                nil, advertisement.port.bigEndian, UInt16(text.count), text,
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

    /// Announces another TXT record; the daemon's error number.
    func update(_ record: TXTRecord) -> Int32 {
        let text = record.wireForm
        return pointer.withLock { pointer in
            guard let pointer else { return 0 }
            return library.functions.update_record(pointer, nil, 0, UInt16(text.count), text, 0)
        }
    }

    /// Takes what the daemon has said, without waiting.
    ///
    /// - Returns: the replies of one message, which may be none; and whether there was a message, so that more may be waiting.
    func replies() -> (replies: [DaemonReply], mayHaveMore: Bool) {
        let error = pointer.withLock { pointer -> Int32? in
            // The library would wait. While there is a pointer, the descriptor is its own.
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

    /// Ends the operation; what it published is gone. Idempotent.
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
        // The inbox lives as long as this object, and the reference is ended before that is over.
        let error = call(&pointer, Unmanaged.passUnretained(inbox).toOpaque())
        guard error == 0, let pointer else { throw DaemonNumber.error(error) }
        return pointer
    }
}
