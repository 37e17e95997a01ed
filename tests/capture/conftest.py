from tests.support.capturing import built, fake_engines, gpu, recorder

__all__ = ["built", "fake_engines", "gpu", "recorder"]
