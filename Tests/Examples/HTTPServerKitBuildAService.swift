import HTTPServerKit

enum HTTPServerKitBuildAService {
    nonisolated(unsafe) static var router = Router()
    nonisolated(unsafe) static var configuration = HTTPServer.Configuration()
    static var server: HTTPServer { preconditionFailure("only compiled") }
}
