public import StreamKit

/// The kinds of NetKit.
extension StreamKind {
    /// `ReadStream(request:body:)`: the rows of `StreamPropertyTable.connection` reach each connection that the load uses.
    public static let http = StreamKind(
        "an HTTP request",
        StreamPropertyTable.connection
            .using(.httpContinueLimit)
            .using(.httpCrossOriginPolicy)
            .using(.httpDecodedLimit)
            .using(.httpDiscardLimit)
            .using(.httpDecodesContent)
            .using(.httpFollowsRedirects)
            .using(.httpKeepsConnection)
            .using(.httpLimits)
            .using(.httpNeedsIdleConnection)
            .using(.httpPool)
            .using(.httpProxyLogins)
            .using(.httpProxySettings)
            .using(.httpResponseLimit)
            .using(.httpTotalLimit)
            .telling(.httpAnsweringProxy)
            .telling(.httpBodyBytesSent)
            .telling(.httpBodyLength)
            .telling(.httpDroppedTrailers)
            .telling(.httpFinalRequest)
            .telling(.httpFinalURL)
            .telling(.httpInterimResponses)
            .telling(.httpProxyBinding)
            .telling(.httpProxyResponse)
            .telling(.httpResponse)
            .telling(.httpTrailers)
            .telling(.httpTunnelVerdict)
            .telling(.serverEndPointBinding)
            .telling(.urlDemandsTLS))

    /// All kinds of this package.
    public static let ofNetKit: [StreamKind] = [.http]
}
