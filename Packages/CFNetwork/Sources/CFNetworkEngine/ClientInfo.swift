package import CoreFoundation
internal import EventLoops

/// The pointer that a client in C receives, which is retained and released as the client's context says.
package final class ClientInfo: @unchecked Sendable {
    // The properties are constant. A context's functions may be called on any thread.
    package let pointer: UnsafeMutableRawPointer?
    private let release: CFAllocatorReleaseCallBack?

    package init(
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
