internal import CFNetworkC
internal import CFNetworkC.Runtime
internal import CoreFoundation

/// The state of a CoreFoundation object of this library.
class ObjectState {
    /// The text between braces in the description of the object.
    var summary: String { "" }

    /// Whether the object equals the one of another state. For classes that are registered as comparable.
    func isEqual(to other: ObjectState) -> Bool { self === other }

    /// The hash value of the object. For classes that are registered as comparable.
    var hashCode: Int { ObjectIdentifier(self).hashValue }
}

extension ObjectState {
    /// Creates the CoreFoundation object that owns this state. Nil if the allocator has no memory.
    func makeObject<Object: AnyObject>(_ allocator: CFAllocator?, _ type: CFTypeID) -> Unmanaged<Object>? {
        let state = Unmanaged<ObjectState>.passRetained(self)
        guard let object = CFNObjectCreate(allocator, type, state.toOpaque()) else {
            state.release()
            return nil
        }
        return .fromOpaque(object.toOpaque())
    }
}

/// The state of an object of this library.
@inline(__always)
func state<State: ObjectState>(of object: AnyObject, as type: State.Type = State.self) -> State {
    let state = CFNObjectState(Unmanaged.passUnretained(object).toOpaque())
    return unsafeDowncast(Unmanaged<ObjectState>.fromOpaque(state).takeUnretainedValue(), to: type)
}

/// Returns a result that the header declares as never NULL, but is NULL for arguments that the function rejects.
///
/// C programs compare it with NULL, as Apple documents it. A Swift program must not use it.
@inline(__always)
func nullable<Object: AnyObject>(_ object: Unmanaged<Object>?) -> Unmanaged<Object> {
    unsafeBitCast(object, to: Unmanaged<Object>.self)
}
