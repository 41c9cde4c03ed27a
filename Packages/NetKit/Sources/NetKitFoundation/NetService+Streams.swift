public import Foundation
internal import NetKit
public import ServiceDiscoveryFoundation
internal import StreamKitFoundation

extension NetService {
    /// Makes two streams to the service, not open: opening them finds out where the service is, and connects.
    ///
    /// ```swift
    /// var input: InputStream?
    /// var output: OutputStream?
    /// guard service.getInputStream(&input, outputStream: &output) else { return }
    /// input?.open()
    /// output?.open()
    /// ```
    ///
    /// Resolving before is not needed. A half that is left out is not made. See `StreamPair(service:)`.
    ///
    /// - Returns: false if name, type and domain are no service's.
    public func getInputStream(
        _ inputStream: UnsafeMutablePointer<InputStream?>?, outputStream: UnsafeMutablePointer<OutputStream?>?
    ) -> Bool {
        guard let type = try? ServiceType(type), type.transport == .tcp, let domain = try? ServiceDomain(domain),
            let service = try? ServiceInstance(name: name, type: type, domain: domain)
        else { return false }
        Stream.getStreams(
            of: StreamPair(service: service, engine: engine), inputStream: inputStream, outputStream: outputStream)
        return true
    }
}
