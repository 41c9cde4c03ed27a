internal import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation

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
        guard let object = cfn_object_create(allocator, type, state.toOpaque()) else {
            state.release()
            return nil
        }
        return .fromOpaque(object.toOpaque())
    }
}

/// The state of an object of this library.
func state<State: ObjectState>(of object: AnyObject, as type: State.Type = State.self) -> State {
    let state = cfn_object_state(Unmanaged.passUnretained(object).toOpaque())
    return unsafeDowncast(Unmanaged<ObjectState>.fromOpaque(state).takeUnretainedValue(), to: type)
}

/// What an object consists of whose functions another module of this package defines.
package protocol ObjectContent: AnyObject, Sendable {
    /// The text between braces in the description of the object.
    var summary: String { get }
    /// Whether the object equals the one of another content. For classes that are registered as comparable.
    func isEqual(to other: any ObjectContent) -> Bool
    /// The hash value of the object. For classes that are registered as comparable.
    var hashCode: Int { get }
}

extension ObjectContent {
    package func isEqual(to other: any ObjectContent) -> Bool { self === other }
    package var hashCode: Int { ObjectIdentifier(self).hashValue }
}

/// The state of such an object.
private final class ContentState: ObjectState {
    let content: any ObjectContent

    init(_ content: any ObjectContent) { self.content = content }

    override var summary: String { content.summary }

    override func isEqual(to other: ObjectState) -> Bool {
        (other as? ContentState).map { content.isEqual(to: $0.content) } ?? false
    }

    override var hashCode: Int { content.hashCode }
}

/// Creates the CoreFoundation object that owns a content. Nil if the allocator has no memory.
package func makeObject<Object: AnyObject>(
    _ allocator: CFAllocator?, _ type: CFTypeID, _ content: any ObjectContent
) -> Unmanaged<Object>? {
    ContentState(content).makeObject(allocator, type)
}

/// The content of an object that ``makeObject(_:_:_:)`` has created.
package func content<Content: ObjectContent>(of object: AnyObject, as type: Content.Type = Content.self) -> Content {
    unsafeDowncast(state(of: object, as: ContentState.self).content, to: type)
}

/// The content of an object of a type of this library; nil for NULL or another object.
package func content<Content: ObjectContent>(of object: AnyObject?, _ type: CFTypeID) -> Content? {
    guard let object, CFGetTypeID(object) == type else { return nil }
    return content(of: object)
}

/// Returns a result that the header declares as never NULL, but is NULL for arguments that the function rejects.
///
/// C programs compare it with NULL, as Apple documents it. A Swift program must not use it.
package func nullable<Object: AnyObject>(_ object: Unmanaged<Object>?) -> Unmanaged<Object> {
    unsafeBitCast(object, to: Unmanaged<Object>.self)
}
