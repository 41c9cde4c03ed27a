internal import EventLoops

/// The CoreFoundation objects of a value, for functions that return one without a reference.
///
/// Such a function may be called on several threads, and while another thread changes the value. An object that one thread has received
/// must not be released before the thread can retain it. All threads therefore receive the same object for the same value, and the
/// objects of the last values are kept.
final class KeptObject<Value: Equatable & Sendable, Object: AnyObject>: @unchecked Sendable {
    // The lock protects the entries, whose objects are never changed.
    private struct Entry: @unchecked Sendable {
        // Any thread may retain, read and release a CoreFoundation object that is not changed.
        let value: Value
        let object: Object
    }

    /// The number of values whose objects are kept.
    static var maximumValues: Int { 16 }

    /// The value that was asked for last is the last entry.
    private let entries = Locked<[Entry]>([])

    /// The object of a value, which `make` creates unless it is kept. Nil for nil.
    func object(for value: Value?, _ make: (Value) -> Unmanaged<Object>) -> Unmanaged<Object>? {
        guard let value else { return nil }
        // An entry that goes is released without the lock.
        let (object, former) = entries.withLock { entries -> (Unmanaged<Object>, Entry?) in
            let kept = entries.firstIndex { $0.value == value }.map { entries.remove(at: $0) }
            let entry = kept ?? Entry(value: value, object: make(value).takeRetainedValue())
            entries.append(entry)
            let former = entries.count > Self.maximumValues ? entries.removeFirst() : nil
            return (.passUnretained(entry.object), former)
        }
        withExtendedLifetime(former) {}
        return object
    }
}
