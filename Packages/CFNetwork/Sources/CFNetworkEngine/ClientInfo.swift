internal import CoreFoundation
internal import EventLoops

/// The pointer that a client in C receives, which is retained and released as the client's context says.
final class ClientInfo: @unchecked Sendable {
    // The properties are constant. A context's functions may be called on any thread.
    let pointer: UnsafeMutableRawPointer?
    private let release: CFAllocatorReleaseCallBack?

    init(
        _ info: UnsafeMutableRawPointer?, retain: CFAllocatorRetainCallBack?, release: CFAllocatorReleaseCallBack?
    ) {
        guard let info, let retain else {
            pointer = info
            self.release = info == nil ? nil : release
            return
        }
        pointer = UnsafeMutableRawPointer(mutating: retain(info))
        self.release = release
    }

    deinit { release?(pointer) }
}

/// The CoreFoundation object of a value, for functions that return it without a reference: it is valid until the value changes.
final class KeptObject<Value: Equatable & Sendable, Object: AnyObject>: @unchecked Sendable {
    // The lock protects the entry, whose object is never changed.
    private struct Entry: @unchecked Sendable {
        // Any thread may retain, read and release a CoreFoundation object that is not changed.
        let value: Value
        let object: Object
    }

    private let entry = Locked<Entry?>(nil)

    /// The object of a value, which `make` creates if the value has changed. Nil for nil.
    func object(for value: Value?, _ make: (Value) -> Unmanaged<Object>) -> Unmanaged<Object>? {
        guard let value else {
            entry.withLock { $0 = nil }
            return nil
        }
        if let kept = entry.withLock({ $0 }), kept.value == value { return .passUnretained(kept.object) }
        let new = Entry(value: value, object: make(value).takeRetainedValue())
        entry.withLock { $0 = new }
        return .passUnretained(new.object)
    }
}
