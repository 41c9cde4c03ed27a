enum HTTPServerKitPage {}
