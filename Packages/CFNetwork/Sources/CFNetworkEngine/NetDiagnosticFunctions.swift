// The functions of CFNetDiagnostics.h. Their names and documentation are in the header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

package import CFNetworkC
internal import CFNetworkC.Runtime
package import CoreFoundation
internal import EventLoops
internal import Foundation
internal import NetDiag
internal import StreamKit

/// The state of a CFNetDiagnostic.
final class NetDiagnosticState: ObjectState, @unchecked Sendable {
    // The lock protects the name. The streams are thread-safe.
    static let typeID = cfn_class_register("CFNetDiagnostic")

    private let reader: ReadStreamState?
    private let writer: WriteStreamState?
    private let url: URL?
    private let name = Locked<String?>(nil)

    init(reader: ReadStreamState?, writer: WriteStreamState?) {
        (self.reader, self.writer, url) = (reader, writer, nil)
    }

    /// Nil if the URL names no peer.
    init?(_ url: URL) {
        guard (try? NetDiagnostic(url: url)) != nil else { return nil }
        (reader, writer, self.url) = (nil, nil, url)
    }

    override var summary: String { url?.host ?? "streams" }

    func setName(_ text: String) { name.withLock { $0 = text } }

    /// The diagnosis, with the present name.
    var diagnostic: NetDiagnostic {
        var options = NetDiagnostic.Options()
        if let name = name.withLock({ $0 }) { options.name = name }
        if let url, let diagnostic = try? NetDiagnostic(url: url, options: options) { return diagnostic }
        return NetDiagnostic(read: reader?.reader, write: writer?.writer, options: options)
    }
}

private func state(of object: CFNetDiagnostic) -> NetDiagnosticState { state(of: object, as: NetDiagnosticState.self) }

/// Creates a diagnosis of streams.
@_cdecl("CFNetDiagnosticCreateWithStreams") @implementation
package func CFNetDiagnosticCreateWithStreams(
    _ alloc: CFAllocator?, _ readStream: CFReadStream?, _ writeStream: CFWriteStream?
) -> Unmanaged<CFNetDiagnostic> {
    let reader = readStream.flatMap { CFReadStreamCopyProperty($0, StreamState.stateKey) as? ReadStreamState }
    let writer = writeStream.flatMap { CFWriteStreamCopyProperty($0, StreamState.stateKey) as? WriteStreamState }
    let state = NetDiagnosticState(reader: reader, writer: writer)
    return nullable(state.makeObject(alloc, NetDiagnosticState.typeID))
}

@_cdecl("CFNetDiagnosticCreateWithURL") @implementation
package func __CFNetDiagnosticCreateWithURL(_ alloc: CFAllocator?, _ url: CFURL) -> Unmanaged<CFNetDiagnostic> {
    let state = URL(string: string(url)).flatMap { NetDiagnosticState($0) }
    return nullable(state?.makeObject(alloc, NetDiagnosticState.typeID))
}

@_cdecl("CFNetDiagnosticSetName") @implementation
package func __CFNetDiagnosticSetName(_ details: CFNetDiagnostic, _ name: CFString) {
    state(of: details).setName(string(name))
}

/// Starts to look for the cause of a problem.
@_cdecl("CFNetDiagnosticDiagnoseProblemInteractively") @implementation
package func CFNetDiagnosticDiagnoseProblemInteractively(_ details: CFNetDiagnostic) -> CFNetDiagnosticStatus {
    state(of: details).diagnostic.diagnoseInteractively()
    return 0
}

@_cdecl("CFNetDiagnosticCopyNetworkStatusPassively") @implementation
package func __CFNetDiagnosticCopyNetworkStatusPassively(
    _ details: CFNetDiagnostic, _ description: UnsafeMutablePointer<Unmanaged<CFString>?>?
) -> CFNetDiagnosticStatus {
    let status = state(of: details).diagnostic.passiveStatus()
    description?.pointee = cfString("\(status.sentence)")
    return status.status.rawValue
}
